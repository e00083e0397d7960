-- Rows of port_scrapes from $start up to before $end (Unix microseconds), in the order in which scrapes are put together again.
select * exclude (forms), forms, epoch_us(ts) as ts_us
from port_scrapes
where ts >= make_timestamptz($start::BIGINT) and ts < make_timestamptz($end::BIGINT)
order by ts, cluster, device, port
