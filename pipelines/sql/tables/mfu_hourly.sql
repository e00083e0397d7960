-- Grain: cluster x job x attempt x GPU model x UTC hour. MFU is model_flop / peak_flop: add both, never the ratio.
-- gpu_s is time inside steps: gaps, startup and checkpoints are usable_compute's, so that the two may be multiplied.
-- model_flop or peak_flop is NULL where it cannot be known, and reason says why.
create table if not exists mfu_hourly (
    hour TIMESTAMPTZ,
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
