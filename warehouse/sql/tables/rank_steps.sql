-- Grain: cluster x job x attempt x rank x step, as reported. A step that was repeated after a restart stands once per attempt.
-- Never sum step_s over ranks as wall time: ranks run side by side. tokens are the rank's own.
-- global_batch_size is the whole job's: the same on all ranks, never to be added up over them.
-- microbatch_*_s: one entry a microbatch, both in one order; told of some steps only. config_hash: what the job ran with.
-- ts is when the node's collector closed the report; start_at is the rank's own clock.
create table if not exists rank_steps (
    cluster VARCHAR,
    job VARCHAR,
    attempt INTEGER,
    node VARCHAR,
    ts TIMESTAMPTZ,
    rank INTEGER,
    step BIGINT,
    phase VARCHAR,
    start_at TIMESTAMPTZ,
    step_s REAL,
    compute_s REAL,
    wait_s REAL,
    transfer_s REAL,
    data_s REAL,
    checkpoint_s REAL,
    cpu_s REAL,
    tokens BIGINT,
    sum_sq_len BIGINT,
    tflops_per_gpu REAL,
    global_batch_size BIGINT,
    microbatch_forward_s REAL[],
    microbatch_backward_s REAL[],
    config_hash VARCHAR
)
