-- Grain: cluster x UTC hour x bucket.
select hour, cluster, bucket, gpu_us
from usable_compute_hourly
where hour >= $start and hour < $end
order by hour, cluster, bucket
