-- Grain: cluster x UTC day x GPU. A MIG GPU stands once, whatever its instances.
select
    ts::DATE as day,
    cluster,
    arg_max(node, ts) as node,
    gpu_uuid,
    arg_max(pci, ts) as pci,
    arg_max(gpu_index, ts) as gpu_index,
    arg_max(model, ts) as model,
    min(ts) as first_at,
    max(ts) as last_at,
    $as_of::TIMESTAMPTZ as as_of
from gpu_scrapes
where ts >= $start and ts < $end and gpu_uuid is not null
group by day, cluster, gpu_uuid
