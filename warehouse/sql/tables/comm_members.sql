-- Grain: one rank of one communicator, as one message told it. rank is the rank inside the communicator; host is as the source
-- names it, with RAS an address. NCCL's log tells it once, RAS with every poll: take the last of a communicator and rank.
create table if not exists comm_members (
    cluster VARCHAR,
    job VARCHAR,
    node VARCHAR,
    ts TIMESTAMPTZ,
    source VARCHAR,
    comm VARCHAR,
    comm_size INTEGER,
    comm_name VARCHAR,
    rank INTEGER,
    host VARCHAR,
    pid BIGINT,
    gpu INTEGER,
    nvml INTEGER,
    pci VARCHAR,
    state VARCHAR,
    error VARCHAR
)
