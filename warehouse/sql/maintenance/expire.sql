-- Named snapshots go: older_than is right to the day only with a SQLite catalog.
call ducklake_expire_snapshots('lake', versions => $versions)
