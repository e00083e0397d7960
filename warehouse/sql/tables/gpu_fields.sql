-- Grain: cluster x node x GPU (or MIG instance) x scrape x field. What gpu_scrapes has no column for.
-- field is the DCGM field id, NULL for a metric without one: then name holds the source's own name.
-- Never sum over value: units differ by field. NULL value: it was sent and could not be read.
create table if not exists gpu_fields (
    cluster VARCHAR,
    node VARCHAR,
    ts TIMESTAMPTZ,
    source VARCHAR,
    gpu_uuid VARCHAR,
    mig VARCHAR,
    field INTEGER,
    name VARCHAR,
    value DOUBLE
)
