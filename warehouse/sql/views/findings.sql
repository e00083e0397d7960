-- Grain: cluster x episode of one fault: its state now, when it opened and when it cleared.
-- Edges, with the values on the way, stand in finding_edges.
create or replace view findings as
select
    cluster,
    detector,
    cause,
    severity,
    state,
    state <> 'cleared' as is_open,
    subject_kind,
    subject,
    node,
    job,
    rank,
    device,
    port,
    gpu_uuid,
    gpu_index,
    opened_at,
    cleared_at,
    ts as changed_at,
    edges,
    epoch_us(ts - opened_at) / 1e6 as seconds,
    value,
    limit_value,
    unit,
    summary,
    action,
    jobs,
    evidence,
    finding,
    confidence,
    slowdown,
    gpu_hours_lost_per_hour,
    candidates,
    coalesce(shadow, false) as shadow
from (
    select
        *,
        row_number() over last_first as place,
        min(ts) over episode as opened_at,
        max(ts) filter (where state = 'cleared') over episode as cleared_at,
        count(*) over episode as edges
    from (select distinct * from finding_edges)
    window
        episode as (partition by cluster, finding),
        last_first as (
            partition by cluster, finding
            order by ts desc, case state when 'cleared' then 0 when 'updated' then 1 else 2 end
        )
)
where place = 1
