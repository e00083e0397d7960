-- Grain: one minute from $start up to before $end (Unix microseconds) of which any table of the past has rows. n: how many.
select epoch_us(ts) // 60000000 as minute, count(*) as n
from (
    select ts from beats union all
    select ts from collective_windows union all
    select ts from collectives union all
    select ts from comm_members union all
    select ts from gpu_fields union all
    select ts from gpu_scrapes union all
    select ts from job_events union all
    select ts from kernel_events union all
    select ts from links union all
    select ts from node_states union all
    select ts from orders union all
    select ts from placements union all
    select ts from port_classes union all
    select ts from port_fields union all
    select ts from port_scrapes union all
    select ts from rank_steps
)
where ts >= make_timestamptz($start::BIGINT) and ts < make_timestamptz($end::BIGINT)
group by all
order by minute
