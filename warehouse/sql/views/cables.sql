-- Grain: cluster x device x port: what it is plugged into now, of what files and inventories say and what LLDP sees.
-- Where LLDP sees another far end than the file, the cable was moved: `moved`, and planned_far_device as the file has it.
create or replace view cables as
with last as (
    select *
    from links
    qualify row_number() over (partition by cluster, device, port, source order by ts desc) = 1
),
planned as (
    select *
    from last
    where source <> 'lldp' and up
    qualify row_number() over (partition by cluster, device, port order by ts desc, source) = 1
),
seen as (
    select * from last where source = 'lldp'
),
told as (
    select
        planned,
        seen,
        planned.source is not null as is_planned,
        seen.source is not null as is_seen,
        len(list_filter(
            [planned.far_device, planned.node],
            lambda name: lower(name) = lower(seen.far_device)
                or starts_with(lower(name), lower(seen.far_device) || '.')
                or starts_with(lower(seen.far_device), lower(name) || '.')
        )) > 0 as agree
    from planned
    full join seen using (cluster, device, port)
),
judged as (
    select
        *,
        not is_planned or (is_seen and not agree and (seen.up or seen.ts > planned.ts)) as by_lldp,
        if(by_lldp, seen, planned) as link,
        planned.node is not null or planned.far_kind in ('nic', 'hca') as at_host
    from told
)
select
    link.cluster,
    link.device,
    link.port,
    link.far_device,
    case
        when not agree then link.far_port
        when at_host then coalesce(planned.far_port, seen.far_port)
        else coalesce(seen.far_port, planned.far_port)
    end as far_port,
    link.far_kind,
    link.node,
    link.gpu_uuids,
    link.gpu_index,
    link.rail,
    if(agree, seen.up, link.up) as up,
    link.source,
    link.ts as since,
    by_lldp and is_planned as moved,
    if(moved, planned.far_device, null) as planned_far_device
from judged
