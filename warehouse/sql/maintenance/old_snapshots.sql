-- Grain: snapshot that is older than so many hours; never the newest.
select snapshot_id
from ducklake_snapshots('lake')
where
    snapshot_time <= now() - to_seconds($hours * 3600)
    and snapshot_id < (select max(snapshot_id) from ducklake_snapshots('lake'))
