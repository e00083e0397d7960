-- Grain: cluster x UTC day x bucket, the sums of usable_compute_hourly. Buckets sum to what was installed.
create table if not exists usable_compute_daily (
    day DATE,
    cluster VARCHAR,
    bucket VARCHAR,
    gpu_us BIGINT,
    as_of TIMESTAMPTZ
)
