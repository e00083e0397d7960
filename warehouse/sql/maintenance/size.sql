-- Grain: one row: files and bytes that the newest snapshot reads.
select coalesce(sum(file_count), 0), coalesce(sum(file_size_bytes), 0)
from ducklake_table_info('lake')
