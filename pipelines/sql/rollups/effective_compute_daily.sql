-- Grain: cluster x UTC day. unknown_gpu_s: time in steps whose MFU is not known; it is in neither FLOP sum.
with
time as (
    select
        day,
        cluster,
        sum(gpu_us)::BIGINT as installed_us,
        sum(gpu_us) filter (where bucket not in ('no_data', 'down', 'out_of_service', 'unhealthy_in_pool'))::BIGINT as usable_us,
        sum(gpu_us) filter (
            where bucket not in ('no_data', 'down', 'out_of_service', 'unhealthy_in_pool', 'idle', 'idle_fragmented')
        )::BIGINT as allocated_us,
        sum(gpu_us) filter (where bucket = 'productive')::BIGINT as productive_us
    from usable_compute_daily
    where day >= $start::DATE and day < $end::DATE
    group by day, cluster
),
flop as (
    select
        day,
        cluster,
        sum(model_flop) filter (where peak_flop is not null) as model_flop,
        sum(peak_flop) filter (where model_flop is not null) as peak_flop,
        sum(gpu_s) filter (where model_flop is null or peak_flop is null) as unknown_gpu_s
    from mfu_daily
    where day >= $start::DATE and day < $end::DATE
    group by day, cluster
)
select
    day,
    cluster,
    installed_us,
    coalesce(usable_us, 0) as usable_us,
    coalesce(allocated_us, 0) as allocated_us,
    coalesce(productive_us, 0) as productive_us,
    model_flop,
    peak_flop,
    coalesce(unknown_gpu_s, 0) as unknown_gpu_s,
    $as_of::TIMESTAMPTZ as as_of
from time
left join flop using (day, cluster)
