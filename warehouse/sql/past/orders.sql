-- Rows of orders from $start up to before $end (Unix microseconds): what people said.
select *, epoch_us(ts) as ts_us, epoch_us(from_at) as from_us, epoch_us(until_at) as until_us
from orders
where ts >= make_timestamptz($start::BIGINT) and ts < make_timestamptz($end::BIGINT)
order by ts, cluster, order_id
