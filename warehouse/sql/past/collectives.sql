-- Rows of collectives from $start up to before $end (Unix microseconds), in the order in which windows are put together again.
select *, epoch_us(ts) as ts_us, epoch_us(created_at) as created_us, epoch_us(started_at) as started_us, epoch_us(completed_at) as completed_us
from collectives
where ts >= make_timestamptz($start::BIGINT) and ts < make_timestamptz($end::BIGINT)
order by ts, cluster, job, node, source, comm, pid, job_rank, seq, rank
