-- Grain: cluster x UTC day x bucket, in GPU-microseconds.
select hour::DATE as day, cluster, bucket, sum(gpu_us)::BIGINT as gpu_us, $as_of::TIMESTAMPTZ as as_of
from usable_compute_hourly
where hour >= $start and hour < $end
group by all
