-- The last word of each source on each port before $start: how the cables ran.
select *, epoch_us(ts) as ts_us
from links
where ts < make_timestamptz($start::BIGINT)
qualify row_number() over (partition by cluster, device, port, source order by ts desc) = 1
order by ts, cluster, device, port
