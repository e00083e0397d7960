-- Grain: cluster x UTC day x GPU: that it was seen, from when to when, and where. The inventory that "installed" counts.
-- pci is the slot: another GPU that appears in it has replaced the one before.
create table if not exists gpu_days (
    day DATE,
    cluster VARCHAR,
    node VARCHAR,
    gpu_uuid VARCHAR,
    pci VARCHAR,
    gpu_index INTEGER,
    model VARCHAR,
    first_at TIMESTAMPTZ,
    last_at TIMESTAMPTZ,
    as_of TIMESTAMPTZ
)
