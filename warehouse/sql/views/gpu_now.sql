-- Grain: cluster x node x GPU (or MIG instance): its last scrape, and how long ago that was against the newest of the fleet.
-- A GPU that fell silent stays here with its last values: look at behind_s before you believe them.
create or replace view gpu_now as
select
    * exclude (place),
    epoch_us(max(ts) over ()) / 1e6 - epoch_us(ts) / 1e6 as behind_s
from (
    select
        *,
        row_number() over (partition by cluster, node, gpu_uuid, mig order by ts desc) as place
    from gpu_health
)
where place = 1
