-- Grain: one statement about one end of a cable. The last statement of a port is true: the view cables shows it.
create table if not exists links (
    cluster VARCHAR,
    device VARCHAR,
    port VARCHAR,
    ts TIMESTAMPTZ,
    far_device VARCHAR,
    far_port VARCHAR,
    far_kind VARCHAR,
    node VARCHAR,
    gpu_uuids VARCHAR[],
    rail INTEGER,
    source VARCHAR,
    up BOOLEAN
)
