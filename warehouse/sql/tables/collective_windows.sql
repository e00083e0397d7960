-- Grain: one CollectiveWindow that told more than its operations and members: how far its group came (last_*, as PyTorch
-- counts), the job's ranks in the communicator's order (comm_ranks, `0-7,16-31/8`), or how many operations its source lost
-- (dropped). A window without an operation or a member stands here too. NULL: not told; 0 is zero.
-- Never add dropped and the rows of collectives: what was lost has no row.
create table if not exists collective_windows (
    cluster VARCHAR,
    job VARCHAR,
    node VARCHAR,
    ts TIMESTAMPTZ,
    source VARCHAR,
    comm VARCHAR,
    comm_size INTEGER,
    comm_nodes INTEGER,
    comm_name VARCHAR,
    comm_ranks VARCHAR,
    pid BIGINT,
    job_rank INTEGER,
    gpu_uuid VARCHAR,
    dropped BIGINT,
    last_enqueued BIGINT,
    last_started BIGINT,
    last_completed BIGINT
)
