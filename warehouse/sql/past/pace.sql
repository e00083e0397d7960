-- Grain: one row: the pace of one job over the day before $end, steps of training only. Never average it with other jobs'.
select median(step_s) as step_s, count(*) as steps
from job_pace
where
    cluster = $cluster
    and job = $job
    and phase = 'train'
    and started_at >= make_timestamptz($end::BIGINT) - interval 1 day
    and started_at < make_timestamptz($end::BIGINT)
