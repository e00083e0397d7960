-- Grain: name of a table, view or column.
select distinct unnest([table_name, column_name])
from duckdb_columns()
where database_name = 'lake'
