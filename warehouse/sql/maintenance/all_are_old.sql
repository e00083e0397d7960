-- Grain: one row: whether every file that waits to be removed has waited so many hours.
select max(schedule_start::TIMESTAMPTZ) <= now() - to_seconds($hours * 3600)
from __ducklake_metadata_lake.ducklake_files_scheduled_for_deletion
