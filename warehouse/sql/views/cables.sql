-- Grain: cluster x device x port: what it is plugged into, by the last statement of it.
create or replace view cables as
select
    cluster,
    device,
    port,
    far_device,
    far_port,
    far_kind,
    node,
    gpu_uuids,
    rail,
    up,
    source,
    ts as since
from links
qualify row_number() over (partition by cluster, device, port order by ts desc) = 1
