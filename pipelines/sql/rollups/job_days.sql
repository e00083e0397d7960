-- Grain: cluster x UTC day x event in a job's life; heartbeats and checkpoints come every few seconds or minutes from
-- every rank, so of each of them only the day's last stands here.
select distinct
    ts::DATE as day, cluster, job, attempt, kind, ts, state, source,
    params, active_params, layers, heads, head_dim, seq_len, dtype, flops_per_token,
    $as_of::TIMESTAMPTZ as as_of
from job_events
where ts >= $start and ts < $end and kind not in ('heartbeat', 'checkpoint')
union all by name
select ts::DATE as day, cluster, job, attempt, kind, max(ts) as ts, $as_of::TIMESTAMPTZ as as_of
from job_events
where ts >= $start and ts < $end and kind in ('heartbeat', 'checkpoint')
group by ts::DATE, cluster, job, attempt, kind
