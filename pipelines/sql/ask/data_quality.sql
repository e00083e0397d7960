-- Grain: one line about how far the day's data can be trusted, with a count.
select * from (
    select 1 as nth, 'messages that could not be read' as what, count(*)::BIGINT as n
    from rejected where ts >= $start and ts < $end
    union all
    select 2, 'messages lost by collectors whose spool was full', coalesce(sum(lost), 0)::BIGINT
    from beats where ts >= $start and ts < $end
    union all
    select 3, 'sweeps of collectors that failed', count(*)::BIGINT
    from beats where ts >= $start and ts < $end and not ok
    union all
    select 4, 'GPU-hours of jobs that send no step reports', coalesce(sum(gpu_us), 0)::BIGINT // 3600000000
    from usable_compute_hourly where hour >= $start and hour < $end and bucket = 'allocated_uninstrumented'
    union all
    select 5, 'GPU-hours about which nothing was heard', coalesce(sum(gpu_us), 0)::BIGINT // 3600000000
    from usable_compute_hourly where hour >= $start and hour < $end and bucket = 'no_data'
)
order by nth
