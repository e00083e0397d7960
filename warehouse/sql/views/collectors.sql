-- Grain: cluster x collector x target: how its last sweep went, and what was lost since the beginning.
create or replace view collectors as
select
    cluster,
    collector,
    source,
    target,
    arg_max(subject, ts) as subject,
    max(ts) as last_sweep_at,
    max(ts) filter (where ok) as last_good_at,
    arg_max(ok, ts) as ok,
    arg_max(error, ts) filter (where error is not null) as last_error,
    arg_max(seconds, ts) as sweep_s,
    arg_max(spooled, ts) as spooled,
    count(*) as sweeps,
    count(*) filter (where not ok) as failed_sweeps,
    sum(samples) as samples,
    sum(bytes) as bytes,
    sum(lost) as lost
from beats
group by cluster, collector, source, target
