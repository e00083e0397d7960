-- Grain: table or view of the warehouse; the first sentence of its comment.
select view_name, 'view', regexp_extract(comment, '^Grain: ([^.:;]*)', 1)
from duckdb_views()
where database_name = 'lake' and not internal
union all
select table_name, 'table', regexp_extract(comment, '^Grain: ([^.:;]*)', 1)
from duckdb_tables()
where database_name = 'lake'
order by 2 desc, 1
