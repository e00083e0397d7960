-- Files that no snapshot needs are removed.
call ducklake_cleanup_old_files('lake', cleanup_all => true)
