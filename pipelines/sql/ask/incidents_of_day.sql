-- Grain: cluster x incident that was open at any moment of the window, as last told before its end.
select
    cluster,
    incident,
    arg_max(severity, ts) as severity,
    arg_max(cause, ts) as cause,
    arg_max(summary, ts) as summary,
    arg_max(coalesce(node, device), ts) as place,
    arg_max(jobs, ts) as jobs,
    min(opened_at) as opened_at,
    case when arg_max(state, ts) = 'cleared' then max(coalesce(cleared_at, ts)) end as cleared_at,
    max(gpu_hours_lost_per_hour) as gpu_hours_lost_per_hour
from incident_edges
where ts < $end
group by cluster, incident
having min(opened_at) < $end and (arg_max(state, ts) <> 'cleared' or max(coalesce(cleared_at, ts)) >= $start)
order by case arg_max(severity, ts) when 'critical' then 0 when 'warning' then 1 else 2 end, min(opened_at)
