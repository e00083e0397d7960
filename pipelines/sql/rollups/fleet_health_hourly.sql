-- Grain: cluster x node x UTC hour. Add score_us and known_us; never average scores of unequal times.
-- Scores are the stream job's (100 until it says otherwise); where a node sent nothing for three of its intervals, the
-- time is silent_us and counts as no score at all: silence is not health.
with
seen as (
    select cluster, node, ts, lead(ts) over (partition by cluster, node order by ts) as next_ts
    from (select distinct cluster, node, ts from gpu_scrapes where ts >= $start - interval 10 minute and ts < $end + interval 10 minute)
),
paces as (
    select cluster, node, median(epoch_us(next_ts) - epoch_us(ts)) as pace_us from seen group by cluster, node
),
counts as (
    select cluster, node, count(distinct gpu_uuid) as gpus
    from gpu_days where day >= $start::DATE - interval 14 day and day <= $end::DATE
    group by cluster, node
),
hours as (
    select cluster, node, gpus, hour
    from counts, (select unnest(generate_series($start::TIMESTAMPTZ, $end::TIMESTAMPTZ - interval 1 hour, interval 1 hour)) as hour)
),
covered as (
    -- Stretches with data: a sample holds until the next, or for one interval before a gap.
    select cluster, node, epoch_us(ts) as a,
        case when epoch_us(next_ts) - epoch_us(ts) <= 3 * pace_us then epoch_us(next_ts)
            else (epoch_us(ts) + coalesce(pace_us, 0))::BIGINT end as b
    from seen join paces using (cluster, node)
),
known as (
    select cluster, node, hour, sum(greatest(0, least(b, epoch_us(hour) + 3600000000) - greatest(a, epoch_us(hour)))) as known_us
    from hours join covered using (cluster, node)
    where b > epoch_us(hour) and a < epoch_us(hour) + 3600000000
    group by cluster, node, hour
),
spans as (
    select cluster, node, score::DOUBLE as score, schedulable, state, reasons, ts,
        coalesce(lead(ts) over (partition by cluster, node order by ts), $end::TIMESTAMPTZ) as until_ts
    from node_scores where ts < $end
),
held as (
    select hours.cluster, hours.node, hour, score, schedulable, state, reasons, spans.ts,
        greatest(0, epoch_us(least(until_ts, hour + interval 1 hour)) - epoch_us(greatest(spans.ts, hour))) as us
    from hours join spans on spans.cluster = hours.cluster and spans.node = hours.node
    where until_ts > hour and spans.ts < hour + interval 1 hour
),
scored as (
    select
        cluster, node, hour,
        sum(us) as scored_us,
        sum(score * us) as score_us,
        sum(us) filter (where not schedulable) as unschedulable_us,
        min(score) filter (where us > 0) as lowest_score,
        arg_max(score, ts) as last_score,
        arg_max(state, ts) as last_state,
        list_sort(list_distinct(flatten(list(list_transform(reasons, lambda reason: reason.cause))))) as causes
    from held
    group by cluster, node, hour
),
opened as (
    select cluster, node, time_bucket(interval 1 hour, episode_at) as hour, count(distinct finding) as findings
    from finding_edges where episode_at >= $start and episode_at < $end and node is not null
    group by cluster, node, hour
)
select
    hour,
    cluster,
    node,
    gpus,
    -- Time before the first statement scores 100; of scored time only the known share counts.
    case when coalesce(known_us, 0) = 0 then 0
        else (coalesce(score_us, 0) + 100.0 * (3600000000 - coalesce(scored_us, 0))) / 3600000000 * known_us end as score_us,
    coalesce(known_us, 0)::BIGINT as known_us,
    coalesce(unschedulable_us, 0)::BIGINT as unschedulable_us,
    (3600000000 - coalesce(known_us, 0))::BIGINT as silent_us,
    coalesce(lowest_score, 100) as lowest_score,
    coalesce(last_score, 100) as last_score,
    case when coalesce(known_us, 0) = 0 then 'unknown' else coalesce(last_state, 'healthy') end as last_state,
    coalesce(causes, []) as causes,
    coalesce(findings, 0) as findings,
    $as_of::TIMESTAMPTZ as as_of
from hours
left join known using (cluster, node, hour)
left join scored using (cluster, node, hour)
left join opened using (cluster, node, hour)
