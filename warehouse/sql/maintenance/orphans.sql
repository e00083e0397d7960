-- Files that no snapshot ever named, written before a moment (a writer was killed), are removed.
call ducklake_delete_orphaned_files('lake', older_than => $before)
