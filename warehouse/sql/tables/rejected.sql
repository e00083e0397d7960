-- Grain: one report of bytes that could not be read. count(*) + sum(unreported) is the number of bad messages.
create table if not exists rejected (
    cluster VARCHAR,
    ts TIMESTAMPTZ,
    source VARCHAR,
    source_partition INTEGER,
    source_offset BIGINT,
    why VARCHAR,
    raw BLOB,
    reported_by VARCHAR,
    unreported BIGINT
)
