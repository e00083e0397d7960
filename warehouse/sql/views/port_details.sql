-- Grain: cluster x device x port x scrape x counter x index: what has no column elsewhere.
-- value is rounded above 2^53; port_fields.count is exact. Never sum over counters of different units.
create or replace view port_details as
select
    cluster,
    device,
    port,
    ts,
    counter,
    index,
    coalesce(count::DOUBLE, value) as value,
    text,
    epoch,
    baseline,
    named
from port_fields
