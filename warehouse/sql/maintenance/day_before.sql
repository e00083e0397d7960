-- Grain: one row: the last moment of the day before the one that was so many hours ago.
select date_trunc('day', now() - to_seconds($hours * 3600)) - to_microseconds(1)
