-- Rows of kernel_events from $start up to before $end (Unix microseconds), in the order in which events are put together again.
select *, epoch_us(ts) as ts_us
from kernel_events
where ts >= make_timestamptz($start::BIGINT) and ts < make_timestamptz($end::BIGINT)
order by ts, cluster, node
