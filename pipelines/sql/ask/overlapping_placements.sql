-- Grain: a GPU and two jobs that both held it for more than a minute of the window: shared, or one of them is stale (a job whose
-- end nobody told, an epilog that failed). Both are kept; nobody picks one. A job under two names is one job.
-- Schedulers' clocks and the job's differ by seconds, and an end may be told late: a minute is no overlap.
with
names as (
    select cluster, alias, arg_max(job, ts) as job
    from (select cluster, unnest(aliases) as alias, job, ts from job_events where ts >= $start - interval 180 day and ts < $end)
    group by cluster, alias
),
indexes as (
    select cluster, node, gpu_index, arg_max(gpu_uuid, last_at) as gpu_uuid
    from gpu_days
    where day >= $start::DATE - interval 15 day and day <= $end::DATE and gpu_index is not null
    group by all
),
told as (
    select distinct
        stay.cluster,
        coalesce(names.job, stay.job) as job,
        coalesce(stay.gpu_uuid, indexes.gpu_uuid, stay.node || ' GPU ' || stay.gpu_index) as gpu,
        greatest(from_ts, $start) as from_ts,
        least(coalesce(until_ts, $end), $end) as until_ts
    from job_placements as stay
    left join indexes using (cluster, node, gpu_index)
    left join names on names.cluster = stay.cluster and names.alias = stay.job
    where from_ts < $end and coalesce(until_ts, $end) > $start and from_ts >= $start - interval 180 day
),
-- What a job and its scheduler tell of one stay is one stay.
ordered as (
    select *, coalesce(from_ts > max(until_ts) over (
        partition by cluster, job, gpu order by from_ts rows between unbounded preceding and 1 preceding
    ), true) as begins
    from told
),
numbered as (select *, count(*) filter (where begins) over (partition by cluster, job, gpu order by from_ts) as nth from ordered),
stays as (
    select cluster, job, gpu, min(from_ts) as from_ts, max(until_ts) as until_ts from numbered group by cluster, job, gpu, nth
)
select
    one.cluster,
    one.gpu,
    least(one.job, other.job) as job,
    greatest(one.job, other.job) as other_job,
    sum(epoch_us(least(one.until_ts, other.until_ts)) - epoch_us(greatest(one.from_ts, other.from_ts)))::BIGINT // 1000000
        as seconds
from stays as one join stays as other
    on one.cluster = other.cluster and one.gpu = other.gpu and one.job < other.job
    and one.from_ts < other.until_ts and other.from_ts < one.until_ts
where one.gpu is not null
group by all
having seconds > 60
order by seconds desc, gpu, job
