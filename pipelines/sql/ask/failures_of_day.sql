-- Grain: cluster x job attempt that ended badly in the window.
select cluster, job, attempt, ts as ended_at, state, reason
from job_events
where kind = 'ended' and ts >= $start and ts < $end and coalesce(state, '') not in ('completed', 'cancelled', 'preempted')
order by ts
