-- Grain: cluster x UTC day. Silent time of a node is not up time: it is not known to have been.
with
gpus as (
    select
        day,
        cluster,
        sum(gpu_us)::BIGINT as installed_us,
        coalesce(sum(gpu_us) filter (where bucket = 'down'), 0)::BIGINT as down_us,
        coalesce(sum(gpu_us) filter (where bucket = 'out_of_service'), 0)::BIGINT as out_of_service_us
    from usable_compute_daily
    where day >= $start::DATE and day < $end::DATE
    group by day, cluster
),
nodes as (
    select
        day,
        cluster,
        count(*) as nodes,
        sum(greatest(0, known_us - unschedulable_us))::BIGINT as up_us
    from fleet_health_daily
    where day >= $start::DATE and day < $end::DATE
    group by day, cluster
),
said as (
    select cluster, node, ts, bool_and(schedulable and state <> 'cordoned') as up
    from node_scores
    where ts >= $start - interval 180 day and ts < $end and state <> 'unknown'
    group by cluster, node, ts
),
turns as (
    select cluster, node, ts, up, lead(ts) over (partition by cluster, node order by ts) as next_ts
    from (select *, coalesce(lag(up) over (partition by cluster, node order by ts), true) as before from said)
    where up <> before
),
failed as (
    select ts::DATE as day, cluster, count(*) as failures from turns where not up and ts >= $start group by all
),
mended as (
    select next_ts::DATE as day, cluster, count(*) as repairs, sum(epoch_us(next_ts) - epoch_us(ts))::BIGINT as repair_us
    from turns
    where not up and next_ts >= $start
    group by all
)
select
    day,
    cluster,
    installed_us,
    down_us,
    out_of_service_us,
    coalesce(nodes, 0) as nodes,
    coalesce(up_us, 0) as up_us,
    coalesce(failures, 0) as failures,
    coalesce(repairs, 0) as repairs,
    coalesce(repair_us, 0) as repair_us,
    $as_of::TIMESTAMPTZ as as_of
from gpus
left join nodes using (day, cluster)
left join failed using (day, cluster)
left join mended using (day, cluster)
