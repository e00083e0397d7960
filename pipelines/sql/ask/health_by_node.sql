-- Grain: cluster x node, over the window. Mean score is score_us / known_us.
select
    cluster,
    node,
    max(gpus) as gpus,
    sum(score_us) / nullif(sum(known_us), 0) as score,
    min(lowest_score) as lowest_score,
    arg_max(last_state, hour) as last_state,
    sum(unschedulable_us) / 3.6e9 as unschedulable_h,
    sum(silent_us) / 3.6e9 as silent_h,
    list_sort(list_distinct(flatten(list(causes)))) as causes,
    sum(findings)::INTEGER as findings
from fleet_health_hourly
where hour >= $start and hour < $end
group by cluster, node
order by score nulls first, node
