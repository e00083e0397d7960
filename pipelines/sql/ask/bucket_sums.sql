-- Grain: cluster x UTC hour: what the buckets sum to, and what was installed by the inventory.
with
hours as (
    select hour, cluster, sum(gpu_us) as gpu_us, count(*) - count(distinct bucket) as doubled, min(gpu_us) as least
    from usable_compute_hourly
    where hour >= $start and hour < $end
    group by hour, cluster
),
boards as (
    select cluster, gpu_uuid, min(first_at) as first_at, min(day) as first_day, max(day) as last_day
    from gpu_days
    where day > $start::DATE - interval 14 day and day <= $end::DATE
    group by cluster, gpu_uuid
)
select
    hours.hour,
    hours.cluster,
    any_value(gpu_us)::BIGINT as gpu_us,
    any_value(doubled) as doubled,
    any_value(least) as least,
    sum(greatest(0, epoch_us(hours.hour) + 3600000000 - greatest(epoch_us(hours.hour), epoch_us(first_at))))::BIGINT as installed_us
from hours
join boards on boards.cluster = hours.cluster and first_at < hours.hour + interval 1 hour
group by hours.hour, hours.cluster
order by hours.hour, hours.cluster
