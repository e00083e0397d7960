-- Files of which most rows are deleted are written anew without them.
call ducklake_rewrite_data_files('lake', $table)
