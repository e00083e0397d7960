-- Grain: cluster x UTC hour. Mean score of the fleet is score_us / known_us.
select
    hour,
    cluster,
    sum(score_us) as score_us,
    sum(known_us)::BIGINT as known_us,
    min(lowest_score) filter (where known_us > 0) as lowest_score,
    count(*) filter (where unschedulable_us > 0) as unschedulable_nodes,
    count(*) filter (where silent_us > 0) as silent_nodes
from fleet_health_hourly
where hour >= $start and hour < $end
group by hour, cluster
order by hour, cluster
