-- Grain: cluster x GPU x UTC day on which its corrected errors grew or its corrected row remaps were read, of the
-- GPUs $gpus of $cluster, from $start up to before $end (Unix microseconds). Two sources of one GPU: the larger sum, never both.
-- errors: the larger of what the counters since driver load and for life grew. events: runs of growth, split by $gap
-- microseconds of quiet, of at least $least errors, that began on that day. remaps: as they stood at the day's end.
with readings as (
    select
        cluster, gpu_uuid, source, ts,
        max(case when ecc_sbe_volatile between 0 and 2147483631 then ecc_sbe_volatile end) as volatile,
        max(case when ecc_sbe_aggregate between 0 and 2147483631 then ecc_sbe_aggregate end) as lifetime,
        max(case when row_remap_correctable between 0 and 2147483631 then row_remap_correctable end) as remaps
    from gpu_scrapes
    semi join (select unnest($gpus::VARCHAR[]) as gpu_uuid) as wanted using (gpu_uuid)
    where
        ts >= make_timestamptz($start::BIGINT) and ts < make_timestamptz($end::BIGINT)
        and cluster = $cluster
        -- Merged files are sorted by GPU: the parts of them outside this range are not read.
        and gpu_uuid between list_min($gpus::VARCHAR[]) and list_max($gpus::VARCHAR[])
    group by all
),
before as (
    select
        *,
        lag(volatile ignore nulls) over in_order as volatile_before,
        lag(lifetime ignore nulls) over in_order as lifetime_before
    from readings
    window in_order as (partition by cluster, gpu_uuid, source order by ts)
),
growth as (
    select
        cluster, gpu_uuid, source, ts,
        -- A counter since driver load that fell began again at zero; one for life that fell says nothing.
        coalesce(case when volatile < volatile_before then volatile else volatile - volatile_before end, 0) as volatile,
        coalesce(greatest(lifetime - lifetime_before, 0), 0) as lifetime
    from before
),
runs as (
    select
        *,
        sum(starts) over (partition by cluster, gpu_uuid, source order by ts) as run
    from (
        select
            *,
            case
                when epoch_us(ts) - lag(epoch_us(ts)) over (partition by cluster, gpu_uuid, source order by ts) < $gap then 0
                else 1
            end as starts
        from growth
        where volatile > 0 or lifetime > 0
    )
),
events as (
    select cluster, gpu_uuid, day, max(events) as events
    from (
        select cluster, gpu_uuid, source, day, count(*) as events
        from (
            select
                cluster, gpu_uuid, source, run,
                epoch_us(min(ts)) // 86400000000 as day,
                greatest(sum(volatile), sum(lifetime)) as errors
            from runs
            group by all
        )
        where errors >= $least
        group by all
    )
    group by all
),
errors as (
    select cluster, gpu_uuid, day, max(errors) as errors
    from (
        select
            cluster, gpu_uuid, source,
            epoch_us(ts) // 86400000000 as day,
            greatest(sum(volatile), sum(lifetime)) as errors
        from runs
        group by all
    )
    group by all
),
remaps as (
    select cluster, gpu_uuid, epoch_us(ts) // 86400000000 as day, arg_max(remaps, ts) as remaps
    from readings
    where remaps is not null
    group by all
)
select
    cluster, gpu_uuid, day,
    coalesce(errors, 0)::DOUBLE as errors,
    coalesce(events, 0)::BIGINT as events,
    remaps::DOUBLE as remaps
from errors
full join events using (cluster, gpu_uuid, day)
full join remaps using (cluster, gpu_uuid, day)
order by cluster, gpu_uuid, day
