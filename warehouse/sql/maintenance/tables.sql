-- Grain: table of the warehouse that a merge or rewrite can make smaller.
select table_name
from ducklake_table_info('lake')
where file_count > 1 or delete_file_count > 0
order by table_name
