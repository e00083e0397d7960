-- Grain: cluster x job x attempt x GPU model x UTC day, the sums of mfu_hourly. MFU is model_flop / peak_flop.
create table if not exists mfu_daily (
    day DATE,
    cluster VARCHAR,
    job VARCHAR,
    attempt INTEGER,
    gpu_model VARCHAR,
    dtype VARCHAR,
    gpus INTEGER,
    steps BIGINT,
    tokens DOUBLE,
    gpu_s DOUBLE,
    model_flop DOUBLE,
    peak_flop DOUBLE,
    flops_from VARCHAR,
    reason VARCHAR,
    as_of TIMESTAMPTZ
)
