-- Rows of comm_members from $start up to before $end (Unix microseconds), in the order in which windows are put together again.
select *, epoch_us(ts) as ts_us
from comm_members
where ts >= make_timestamptz($start::BIGINT) and ts < make_timestamptz($end::BIGINT)
order by ts, cluster, job, node, source, comm, rank
