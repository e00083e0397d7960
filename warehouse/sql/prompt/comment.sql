-- Grain: one row: the comment of a table or view.
select comment
from duckdb_views()
where database_name = 'lake' and view_name = $table and comment is not null
union all
select comment
from duckdb_tables()
where database_name = 'lake' and table_name = $table and comment is not null
