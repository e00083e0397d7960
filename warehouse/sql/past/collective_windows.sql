-- Rows of collective_windows from $start up to before $end (Unix microseconds), in the order in which windows are put together again.
select *, epoch_us(ts) as ts_us
from collective_windows
where ts >= make_timestamptz($start::BIGINT) and ts < make_timestamptz($end::BIGINT)
order by ts, cluster, job, node, source, comm, pid, job_rank
