-- Grain: one line of one node's kernel log that means something.
-- Never take a count for a number of faults: one fault writes many lines.
create table if not exists kernel_events (
    cluster VARCHAR,
    node VARCHAR,
    ts TIMESTAMPTZ,
    kind VARCHAR,
    code INTEGER,
    pci VARCHAR,
    gpu_uuid VARCHAR,
    mig VARCHAR,
    device VARCHAR,
    pid BIGINT,
    process VARCHAR,
    detail VARCHAR,
    raw VARCHAR
)
