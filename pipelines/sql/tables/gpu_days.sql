-- Grain: cluster x UTC day x GPU: that it was seen, from when to when. The inventory that "installed" counts.
create table if not exists gpu_days (
    day DATE,
    cluster VARCHAR,
    node VARCHAR,
    gpu_uuid VARCHAR,
    model VARCHAR,
    first_at TIMESTAMPTZ,
    last_at TIMESTAMPTZ,
    as_of TIMESTAMPTZ
)
