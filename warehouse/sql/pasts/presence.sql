-- Grain: cluster x GPU that was scraped from $start up to before $end (Unix microseconds), with the node that had it last.
-- days: UTC days with a scrape; their sum is the fleet's GPU-days.
select
    cluster, gpu_uuid,
    arg_max(node, ts) as node,
    count(distinct epoch_us(ts) // 86400000000)::BIGINT as days
from gpu_scrapes
where ts >= make_timestamptz($start::BIGINT) and ts < make_timestamptz($end::BIGINT)
group by all
order by cluster, node, gpu_uuid
