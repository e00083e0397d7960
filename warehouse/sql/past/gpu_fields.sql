-- Rows of gpu_fields from $start up to before $end (Unix microseconds), in the order in which scrapes are put together again.
select *, epoch_us(ts) as ts_us
from gpu_fields
where ts >= make_timestamptz($start::BIGINT) and ts < make_timestamptz($end::BIGINT)
order by ts, cluster, node, source
