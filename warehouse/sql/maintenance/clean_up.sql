-- Files that no snapshot needs since a day up to this moment are removed.
call ducklake_cleanup_old_files('lake', older_than => $before)
