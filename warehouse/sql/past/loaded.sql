-- Grain: one row: the times between which the tables that are never still have rows; NULL: they have none.
select epoch_us(min(ts)) as first_us, epoch_us(max(ts)) as last_us
from (
    select ts from beats union all
    select ts from gpu_scrapes union all
    select ts from port_scrapes union all
    select ts from rank_steps
)
