-- The last word of each order before $start, where it still held then: open maintenance and mutes.
select *, epoch_us(ts) as ts_us, epoch_us(from_at) as from_us, epoch_us(until_at) as until_us
from orders
where ts < make_timestamptz($start::BIGINT)
qualify
    row_number() over (partition by cluster, order_id order by ts desc) = 1
    and (until_at is null or until_at >= make_timestamptz($start::BIGINT))
order by ts, cluster, order_id
