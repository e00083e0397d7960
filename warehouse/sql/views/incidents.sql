-- Grain: cluster x incident: its state now. What it costs while open is gpu_hours_lost_per_hour, an estimate.
-- The way there stands in incident_edges.
create or replace view incidents as
select
    cluster,
    incident,
    severity,
    state,
    state <> 'cleared' as is_open,
    cause,
    subject_kind,
    subject,
    node,
    job,
    rank,
    device,
    port,
    gpu_uuid,
    opened_at,
    cleared_at,
    ts as changed_at,
    epoch_us(coalesce(cleared_at, ts) - opened_at) / 1e6 as seconds,
    len(symptoms) as symptom_count,
    jobs,
    gpus,
    gpu_hours_lost_per_hour,
    summary,
    action,
    runbook,
    symptoms,
    evidence,
    cause_finding,
    detector,
    candidates,
    confidence,
    owner,
    acked_by,
    acked_at,
    muted_until,
    muted_by,
    planned,
    place,
    rack,
    folded_into
from incident_edges
qualify
    row_number() over (
        partition by cluster, incident
        order by ts desc, case state when 'cleared' then 0 when 'updated' then 1 else 2 end
    ) = 1
