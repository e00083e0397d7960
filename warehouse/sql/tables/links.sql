-- Grain: one statement of one source about one end of a cable. The view cables merges the last of each source.
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
    gpu_index INTEGER[],
    rail INTEGER,
    source VARCHAR,
    up BOOLEAN
)
