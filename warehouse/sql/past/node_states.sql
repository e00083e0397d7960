-- Rows of node_states from $start up to before $end (Unix microseconds), in the order in which words are put together again.
select *, epoch_us(ts) as ts_us, epoch_us(until_at) as until_us
from node_states
where ts >= make_timestamptz($start::BIGINT) and ts < make_timestamptz($end::BIGINT)
order by ts, cluster, node
