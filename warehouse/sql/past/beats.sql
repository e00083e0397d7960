-- Rows of beats from $start up to before $end (Unix microseconds), in the order in which beats are put together again.
select *, epoch_us(ts) as ts_us
from beats
where ts >= make_timestamptz($start::BIGINT) and ts < make_timestamptz($end::BIGINT)
order by ts, cluster, collector
