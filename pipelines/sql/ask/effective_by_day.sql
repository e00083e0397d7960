-- Grain: cluster x UTC day, the sums whose quotients are usable, occupancy, goodput, MFU and effective compute.
select * exclude (as_of)
from effective_compute_daily
where day >= $start::DATE and day < $end::DATE
order by day, cluster
