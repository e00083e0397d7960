-- Grain: cluster x node x UTC day.
select
    hour::DATE as day,
    cluster,
    node,
    max(gpus) as gpus,
    sum(score_us) as score_us,
    sum(known_us)::BIGINT as known_us,
    sum(unschedulable_us)::BIGINT as unschedulable_us,
    sum(silent_us)::BIGINT as silent_us,
    min(lowest_score) as lowest_score,
    arg_max(last_score, hour) as last_score,
    arg_max(last_state, hour) as last_state,
    list_sort(list_distinct(flatten(list(causes)))) as causes,
    sum(findings)::INTEGER as findings,
    $as_of::TIMESTAMPTZ as as_of
from fleet_health_hourly
where hour >= $start and hour < $end
group by all
