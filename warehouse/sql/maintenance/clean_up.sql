-- Files that no snapshot needs since before a moment are removed.
call ducklake_cleanup_old_files('lake', older_than => $before)
