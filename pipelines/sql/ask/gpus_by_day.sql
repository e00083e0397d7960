-- Grain: cluster x UTC day: how many GPUs were seen, on how many nodes.
select day, cluster, count(*) as gpus, count(distinct node) as nodes
from gpu_days
where day >= $start::DATE and day < $end::DATE
group by day, cluster
order by day, cluster
