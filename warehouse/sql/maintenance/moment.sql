-- Grain: one row: the moment so many hours ago.
select now() - to_seconds($hours * 3600)
