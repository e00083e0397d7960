-- Snapshots before a moment go; the newest always stays.
call ducklake_expire_snapshots('lake', older_than => $before)
