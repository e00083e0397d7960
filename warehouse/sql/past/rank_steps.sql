-- Rows of rank_steps from $start up to before $end (Unix microseconds), in the order in which reports are put together again.
select *, epoch_us(ts) as ts_us, epoch_us(start_at) as start_us
from rank_steps
where ts >= make_timestamptz($start::BIGINT) and ts < make_timestamptz($end::BIGINT)
order by ts, cluster, job, attempt, node, config_hash, step, rank
