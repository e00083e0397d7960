-- The last placement of each job and source before $start, where the job was not seen to end before it: who ran where.
select p.*, epoch_us(p.ts) as ts_us
from placements p
semi join (
    select cluster, job, source, max(ts) as ts
    from placements
    where ts < make_timestamptz($start::BIGINT)
    group by all
) last
    on last.cluster = p.cluster and last.job = p.job and last.ts = p.ts and last.source is not distinct from p.source
anti join (
    select cluster, job, max(ts) filter (where kind = 'ended') as ended, max(ts) filter (where kind <> 'ended') as lived
    from job_events
    where ts < make_timestamptz($start::BIGINT)
    group by all
    having ended >= lived
) gone
    on gone.cluster = p.cluster and gone.job = p.job
order by p.ts, p.cluster, p.job, p.topic, p.rank
