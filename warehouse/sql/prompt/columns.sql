-- Grain: column of a table or view.
select column_name, data_type, comment
from duckdb_columns()
where database_name = 'lake' and table_name = $table
order by column_index
