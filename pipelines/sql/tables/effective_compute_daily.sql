-- Grain: cluster x UTC day. Effective compute = usable x occupancy x goodput x MFU = useful FLOP / installed peak FLOP.
-- Each factor is kept as its two sums, in GPU-microseconds and FLOP: add sums over days or clusters, never ratios.
create table if not exists effective_compute_daily (
    day DATE,
    cluster VARCHAR,
    installed_us BIGINT,
    usable_us BIGINT,
    allocated_us BIGINT,
    productive_us BIGINT,
    model_flop DOUBLE,
    peak_flop DOUBLE,
    unknown_gpu_s DOUBLE,
    as_of TIMESTAMPTZ
)
