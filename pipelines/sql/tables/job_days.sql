-- Grain: cluster x UTC day x event in a job's life; of a job's heartbeats only the day's last stands here.
-- Small: rollups of an hour read months of it to know what a job is that started long ago.
create table if not exists job_days (
    day DATE,
    cluster VARCHAR,
    job VARCHAR,
    attempt INTEGER,
    kind VARCHAR,
    ts TIMESTAMPTZ,
    state VARCHAR,
    source VARCHAR,
    params DOUBLE,
    active_params DOUBLE,
    layers INTEGER,
    heads INTEGER,
    head_dim INTEGER,
    seq_len INTEGER,
    dtype VARCHAR,
    flops_per_token DOUBLE,
    as_of TIMESTAMPTZ
)
