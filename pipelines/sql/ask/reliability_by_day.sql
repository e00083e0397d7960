-- Grain: cluster x UTC day.
select * exclude (as_of)
from reliability_daily
where day >= $start::DATE and day < $end::DATE
order by day, cluster
