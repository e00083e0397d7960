-- Grain: one incident that was open at some time from $start up to before $end (Unix microseconds), as it was told last.
select
    cluster, incident, cause, subject_kind, subject, severity, planned, epoch_us(opened_at) as opened_us,
    epoch_us(cleared_at) as cleared_us, jobs, summary
from incidents
where
    opened_at < make_timestamptz($end::BIGINT)
    and coalesce(cleared_at, changed_at) >= make_timestamptz($start::BIGINT)
order by opened_at, incident
