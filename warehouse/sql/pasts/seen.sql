-- Grain: cluster x GPU that was scraped from $start up to before $end (Unix microseconds), with the node that had it last.
-- days: UTC days with a scrape, of at most 64; their sum is the fleet's GPU-days. n: rows.
-- moved: whether a memory counter did not stand still. Nearly all GPUs' do for ever: only the others need be put in order.
select
    cluster, gpu_uuid,
    arg_max(node, ts) as node,
    bit_count(bit_or(1::UBIGINT << (epoch_us(ts) // 86400000000 - $start::BIGINT // 86400000000)::UBIGINT))::BIGINT as days,
    count(*) as n,
    coalesce(max(ecc_sbe_volatile) > min(ecc_sbe_volatile), false)
    or coalesce(max(ecc_sbe_aggregate) > min(ecc_sbe_aggregate), false)
    or coalesce(max(row_remap_correctable) > min(row_remap_correctable), false) as moved
from gpu_scrapes
where ts >= make_timestamptz($start::BIGINT) and ts < make_timestamptz($end::BIGINT)
group by all
order by cluster, gpu_uuid
