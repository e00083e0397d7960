-- Grain: cluster x UTC hour x bucket, in GPU-microseconds. Never sum over as_of.
-- Each layer is a step function of time for a GPU or its rank; the moments at which any of them changes cut the hour
-- into pieces, each of which has one bucket, found from the top of the accounting tree down (docs/rollups.md).
with
window_us as (select epoch_us($start::TIMESTAMPTZ) as a, epoch_us($end::TIMESTAMPTZ) as b),
installed as (
    select
        cluster,
        gpu_uuid,
        arg_max(node, day) as node,
        greatest(epoch_us(min(first_at)), any_value(a)) as from_us
    from gpu_days, window_us
    where day > $start::DATE - interval 14 day and day <= $end::DATE
    group by cluster, gpu_uuid
    having min(first_at) < $end
),
-- Layer 1 and 2: samples of the GPU, and of anything on its node. A sample holds until the next, or for one interval
-- where the next is more than three intervals away.
samples as (
    select distinct cluster, node, gpu_uuid, epoch_us(ts) as t, coalesce(max(gr_active), max(sm_active)) as active
    from gpu_scrapes
    where ts >= $start - interval 45 minute and ts < $end + interval 10 minute and gpu_uuid is not null
    group by cluster, node, gpu_uuid, ts
),
node_samples as (select distinct cluster, node, t from samples),
paces as (
    select cluster, node, median(gap) as pace
    from (select cluster, node, lead(t) over (partition by cluster, node order by t) - t as gap from node_samples)
    group by cluster, node
),
gpu_seen as (
    select cluster, gpu_uuid, t, true as seen from samples
    union all
    select cluster, gpu_uuid, (t + pace)::BIGINT, false
    from (
        select samples.*, pace, lead(t) over (partition by samples.cluster, gpu_uuid order by t) - t as gap
        from samples join paces using (cluster, node)
    )
    where coalesce(gap, 1e18) > 3 * pace
),
node_seen as (
    select cluster, node, t, true as seen from node_samples
    union all
    select cluster, node, (t + pace)::BIGINT, false
    from (
        select node_samples.*, pace, lead(t) over (partition by node_samples.cluster, node order by t) - t as gap
        from node_samples join paces using (cluster, node)
    )
    where coalesce(gap, 1e18) > 3 * pace
),
-- Layer 3: what the node's health says.
health as (
    select cluster, node, epoch_us(ts) as t, schedulable, state from node_scores where ts < $end
),
-- Layer 4: which rank holds the GPU.
seats as (
    select
        cluster,
        gpu_uuid,
        job,
        attempt,
        rank,
        pp,
        epoch_us(from_ts) as t,
        coalesce(epoch_us(until_ts), 9e18::BIGINT) as until_us
    from job_placements
    where gpu_uuid is not null and from_ts < $end and (until_ts is null or until_ts > $start)
),
-- Layer 5: what the rank did. A step that a later attempt did again is lost.
raw_steps as (
    select
        cluster,
        job,
        attempt,
        rank,
        step,
        min(epoch_us(coalesce(start_at, ts))) as t,
        max(phase) as phase,
        max(step_s) as step_s,
        max(compute_s) as compute_s,
        coalesce(max(data_s), 0) as data_s,
        coalesce(max(checkpoint_s), 0) as checkpoint_s
    from rank_steps
    where ts >= $start - interval 2 hour and ts < $end + interval 48 hour
    group by cluster, job, attempt, rank, step
),
first_steps as (
    select cluster, job, attempt, min(step) as first_step, min(t) as t from raw_steps group by cluster, job, attempt
),
redone as (
    select
        cluster,
        job,
        attempt,
        min(first_step) over (
            partition by cluster, job order by attempt rows between 1 following and unbounded following
        ) as from_step
    from first_steps
),
paced as (
    select cluster, job, attempt, coalesce(median(step_s) filter (where phase = 'train'), median(step_s)) as usual_s
    from raw_steps where phase in ('warmup', 'train') group by cluster, job, attempt
),
stages as (
    -- What the slowest rank of each pipeline stage took beyond its peers, where it is 10 % or more.
    select
        cluster,
        job,
        attempt,
        step,
        max(step_s) as step_s,
        case when max(compute_s) >= 1.10 * median(compute_s) then max(compute_s) - median(compute_s) else 0 end as excess_s
    from raw_steps
    left join (select distinct cluster, job, attempt, rank, pp from placements) as roles using (cluster, job, attempt, rank)
    group by cluster, job, attempt, step, coalesce(pp, 0)
),
excess as (
    select cluster, job, attempt, step, max(excess_s) / nullif(max(step_s), 0) as straggled
    from stages group by cluster, job, attempt, step
),
steps as (
    select
        raw_steps.cluster,
        raw_steps.job,
        raw_steps.rank,
        raw_steps.t,
        (raw_steps.t + raw_steps.step_s * 1e6)::BIGINT as until_us,
        raw_steps.phase,
        coalesce(raw_steps.step >= redone.from_step, false) as lost,
        coalesce(least(checkpoint_s / nullif(raw_steps.step_s, 0), 1), 0) as checkpoint_share,
        -- What a first step takes beyond the usual is compilation and warming up.
        case when raw_steps.phase = 'warmup' then greatest(0, 1 - usual_s / nullif(raw_steps.step_s, 0)) else 0 end
            as startup_share,
        -- Waiting for data beyond a tenth of the step is a stall; so is what a step of five times the usual took beyond it.
        greatest(
            coalesce(case when data_s > 0.1 * raw_steps.step_s then least(data_s / nullif(raw_steps.step_s, 0), 1) end, 0),
            case when raw_steps.phase = 'train' and raw_steps.step_s > 5 * usual_s
                then 1 - usual_s / raw_steps.step_s else 0 end
        ) as stalled_share,
        coalesce(greatest(straggled, 0), 0) as straggled_share,
        (3e6 * greatest(usual_s, 1))::BIGINT as pause_us
    from raw_steps
    left join redone using (cluster, job, attempt)
    left join paced using (cluster, job, attempt)
    left join excess using (cluster, job, attempt, step)
),
starts as (
    select cluster, job, min(epoch_us(ts)) as t
    from job_events
    where kind in ('placed', 'started', 'restarted') and ts < $end
    group by cluster, job, attempt
),
instrumented as (select cluster, job, min(t) as first_t from raw_steps group by cluster, job),
-- A stretch of more than 30 minutes without work, from its start on.
idle_runs as (
    select cluster, gpu_uuid, min(t) as t, max(t) as until_us
    from (
        select *, sum(case when active >= 0.01 then 1 else 0 end) over (partition by cluster, gpu_uuid order by t) as run
        from samples where active is not null
    )
    where active < 0.01
    group by cluster, gpu_uuid, run
    having max(t) - min(t) >= 30 * 60 * 1000000
),
cuts as (
    select cluster, gpu_uuid, from_us as t from installed
    union
    select cluster, gpu_uuid, t from gpu_seen where not seen
    union
    select cluster, gpu_uuid, min(t) from gpu_seen where seen group by cluster, gpu_uuid
    union
    -- The first sample after a gap.
    select cluster, gpu_uuid, t
    from (select *, lag(seen) over (partition by cluster, gpu_uuid order by t) as before from gpu_seen)
    where seen and not coalesce(before, true)
    union
    select installed.cluster, gpu_uuid, t
    from (select *, lag(seen) over (partition by cluster, node order by t) as before from node_seen) as changes
    join installed using (cluster, node)
    where changes.seen is distinct from before
    union
    select installed.cluster, gpu_uuid, t from health join installed using (cluster, node)
    union
    select cluster, gpu_uuid, unnest([t, until_us]) from seats
    union
    select seats.cluster, gpu_uuid, unnest([steps.t, steps.until_us])
    from steps join seats on seats.cluster = steps.cluster and seats.job = steps.job and seats.rank = steps.rank
        and steps.t >= seats.t and steps.t < seats.until_us
    union
    select seats.cluster, gpu_uuid, starts.t
    from starts join seats on seats.cluster = starts.cluster and seats.job = starts.job
    union
    select cluster, gpu_uuid, unnest([t, until_us]) from idle_runs
    union
    select cluster, gpu_uuid, hour_us from installed, (select unnest(range(a, b, 3600000000)) as hour_us from window_us)
),
pieces as (
    select installed.cluster, installed.node, gpu_uuid, t, lead(t) over (partition by installed.cluster, gpu_uuid order by t) as next_t
    from (
        select cluster, gpu_uuid, t from cuts, window_us where t >= a and t < b
        union
        select cluster, gpu_uuid, b from installed, window_us
    )
    join installed using (cluster, gpu_uuid)
    where t >= from_us
),
seen as (
    select pieces.*, gpu_seen.seen as gpu_seen
    from pieces asof left join gpu_seen
        on pieces.cluster = gpu_seen.cluster and pieces.gpu_uuid = gpu_seen.gpu_uuid and pieces.t >= gpu_seen.t
    where next_t > pieces.t
),
seen_node as (
    select seen.*, node_seen.seen as node_seen
    from seen asof left join node_seen
        on seen.cluster = node_seen.cluster and seen.node = node_seen.node and seen.t >= node_seen.t
),
judged as (
    select seen_node.*, health.schedulable, health.state
    from seen_node asof left join health
        on seen_node.cluster = health.cluster and seen_node.node = health.node and seen_node.t >= health.t
),
seated as (
    select judged.*, seats.job, seats.rank, seats.until_us as seat_until
    from judged asof left join seats
        on judged.cluster = seats.cluster and judged.gpu_uuid = seats.gpu_uuid and judged.t >= seats.t
),
stepped as (
    select
        seated.* exclude (job, rank),
        case when seated.t < seat_until then seated.job end as job,
        case when seated.t < seat_until then seated.rank end as rank,
        steps.t as step_t,
        steps.until_us as step_until,
        steps.* exclude (cluster, job, rank, t, until_us)
    from seated asof left join steps
        on seated.cluster = steps.cluster and seated.job = steps.job and seated.rank = steps.rank and seated.t >= steps.t
),
started as (
    select stepped.*, starts.t as start_t
    from stepped asof left join starts
        on stepped.cluster = starts.cluster and stepped.job = starts.job and stepped.t >= starts.t
),
followed as (
    -- When the rank's next step begins: a short pause belongs to the step before it.
    select started.*, nexts.t as next_step_t
    from started asof left join steps as nexts
        on started.cluster = nexts.cluster and started.job = nexts.job and started.rank = nexts.rank and started.t < nexts.t
),
idled as (
    select followed.*, idle_runs.until_us as idle_until
    from followed asof left join idle_runs
        on followed.cluster = idle_runs.cluster and followed.gpu_uuid = idle_runs.gpu_uuid and followed.t >= idle_runs.t
),
named as (
    select
        idled.cluster,
        idled.t,
        next_t - idled.t as us,
        checkpoint_share,
        startup_share,
        stalled_share,
        straggled_share,
        case
            when not coalesce(node_seen, false) then 'no_data'
            when not coalesce(gpu_seen, false) then 'down'
            when not coalesce(schedulable, true) or state = 'cordoned' then 'out_of_service'
            when state = 'suspect' then 'unhealthy_in_pool'
            when idled.job is null then 'idle'
            when instrumented.job is null then
                case when idled.t < idle_until then 'reserved_idle' else 'allocated_uninstrumented' end
            when step_t is null or (start_t > step_t and idled.t >= step_until) then
                case when idled.t < idle_until then 'reserved_idle' else 'startup' end
            when idled.t < step_until and lost then 'lost'
            when idled.t < step_until and phase in ('checkpoint', 'restart') then
                case phase when 'checkpoint' then 'checkpoint' else 'startup' end
            when idled.t < step_until then 'in_step'
            when next_step_t - step_until <= pause_us then case when lost then 'lost' else 'productive' end
            when idled.t < idle_until then 'reserved_idle'
            else 'stalled'
        end as bucket
    from idled
    left join instrumented on instrumented.cluster = idled.cluster and instrumented.job = idled.job
),
shared as (
    select
        *,
        case when bucket = 'in_step' then floor(us * checkpoint_share)::BIGINT else 0 end as checkpoint_us,
        case when bucket = 'in_step' then floor((us - checkpoint_us) * startup_share)::BIGINT else 0 end as startup_us,
        case when bucket = 'in_step'
            then floor((us - checkpoint_us - startup_us) * stalled_share)::BIGINT else 0 end as stalled_us,
        case when bucket = 'in_step'
            then floor((us - checkpoint_us - startup_us - stalled_us) * least(straggled_share, 1))::BIGINT
            else 0 end as straggled_us
    from named
),
spread as (
    select cluster, t, 'checkpoint' as bucket, checkpoint_us as us from shared
    union all
    select cluster, t, 'startup', startup_us from shared
    union all
    select cluster, t, 'stalled', stalled_us from shared
    union all
    select cluster, t, 'straggled', straggled_us from shared
    union all
    select
        cluster,
        t,
        case bucket when 'in_step' then 'productive' else bucket end,
        us - checkpoint_us - startup_us - stalled_us - straggled_us
    from shared
)
select
    make_timestamp(t - t % 3600000000) at time zone 'UTC' as hour,
    cluster,
    bucket,
    sum(us)::BIGINT as gpu_us,
    $as_of::TIMESTAMPTZ as as_of
from spread
where us > 0
group by all
