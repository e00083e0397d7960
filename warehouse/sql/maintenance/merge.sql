-- Small files of one partition become one, in the table's sort order.
call ducklake_merge_adjacent_files('lake', $table)
