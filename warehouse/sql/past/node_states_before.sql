-- The last word of each source on each node before $start.
select *, epoch_us(ts) as ts_us, epoch_us(until_at) as until_us
from node_states
where ts < make_timestamptz($start::BIGINT)
qualify row_number() over (partition by cluster, node, source order by ts desc) = 1
order by ts, cluster, node
