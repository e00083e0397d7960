-- Grain: cluster x UTC hour x bucket. Every microsecond of every installed GPU stands in exactly one bucket,
-- so the buckets of an hour sum to installed x 1 hour. Shares are gpu_us / sum(gpu_us): add both, never a share.
-- lost is known only after a restart: the last 48 hours are rebuilt on every daily run (as_of).
create table if not exists usable_compute_hourly (
    hour TIMESTAMPTZ,
    cluster VARCHAR,
    bucket VARCHAR,
    gpu_us BIGINT,
    as_of TIMESTAMPTZ
)
