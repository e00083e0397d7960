-- Grain: cluster x UTC hour: what the buckets sum to, and what was installed by the inventory.
with
hours as (
    select hour, cluster, sum(gpu_us) as gpu_us, count(*) - count(distinct bucket) as doubled, min(gpu_us) as least
    from usable_compute_hourly
    where hour >= $start and hour < $end
    group by hour, cluster
),
stays as (
    -- From a GPU's first sample to 14 days after its last, to its next day, or to its successor in the slot.
    select
        this.cluster,
        this.gpu_uuid,
        epoch_us(this.first_at) as t,
        least(
            epoch_us(any_value(this.last_at) + interval 14 day),
            coalesce(min(epoch_us(other.first_at)), 9e18::BIGINT)
        ) as until_us
    from gpu_days as this left join gpu_days as other
        on other.cluster = this.cluster and other.first_at > this.first_at
        and (other.gpu_uuid = this.gpu_uuid
            or (other.node = this.node and other.pci = this.pci and other.first_at > this.last_at))
        and other.day <= $end::DATE
    where this.day >= $start::DATE - interval 15 day and this.day <= $end::DATE
    group by this.cluster, this.gpu_uuid, this.first_at
),
installed as (
    select hour, cluster,
        sum(least(until_us, epoch_us(hour) + 3600000000) - greatest(t, epoch_us(hour)))::BIGINT as installed_us
    from stays, (select unnest(generate_series($start::TIMESTAMPTZ, $end::TIMESTAMPTZ - interval 1 hour, interval 1 hour)) as hour)
    where until_us > epoch_us(hour) and t < epoch_us(hour) + 3600000000
    group by hour, cluster
)
select
    hour,
    cluster,
    coalesce(gpu_us, 0)::BIGINT as gpu_us,
    coalesce(doubled, 0) as doubled,
    coalesce(least, 0) as least,
    coalesce(installed_us, 0)::BIGINT as installed_us
from hours full join installed using (hour, cluster)
order by hour, cluster
