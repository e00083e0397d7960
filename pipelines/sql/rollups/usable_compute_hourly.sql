-- Grain: cluster x UTC hour x bucket, in GPU-microseconds. Never sum over as_of.
-- Each GPU's hour is cut where its inventory, its samples, its node's health or its job changes; each piece has one bucket,
-- found from the top of the accounting tree down (docs/rollups.md). What a job holds is shared out by its ranks' steps; what
-- no step covers keeps a bucket of its own, so that the sum is exact whatever the steps say.
-- Every look beyond the hour has a fixed length: an hour built alone and in a range comes out the same.
with
bounds as materialized (select epoch_us($start::TIMESTAMPTZ) as a, epoch_us($end::TIMESTAMPTZ) as b),

-- Layer 0: what is installed. A GPU is installed from its first sample until 14 days after its last, until it is seen on
-- another node, or until another GPU is seen in its slot.
gpu_stays as materialized (
    select
        cluster,
        gpu_uuid,
        node,
        epoch_us(first_at) as t,
        least(
            coalesce(epoch_us(lead(first_at) over board), 9e18::BIGINT),
            epoch_us(last_at) + 14 * 86400000000,
            case when pci is not null and lead(gpu_uuid) over slot <> gpu_uuid and lead(first_at) over slot > last_at
                then epoch_us(lead(first_at) over slot) else 9e18::BIGINT end
        ) as until_us
    from gpu_days
    where day >= $start::DATE - interval 15 day and day <= $end::DATE
    window
        board as (partition by cluster, gpu_uuid order by first_at),
        slot as (partition by cluster, node, pci order by first_at)
),
gpus as materialized (
    select cluster, gpu_uuid, row_number() over (order by cluster, gpu_uuid) as gpu
    from (select distinct cluster, gpu_uuid from gpu_stays, bounds where until_us > a and t < b)
),
spans as materialized (
    select gpu, cluster, node, greatest(t, a) as t, least(until_us, b) as until_us
    from gpu_stays join gpus using (cluster, gpu_uuid), bounds
    where until_us > a and t < b
),

-- Layers 1 and 2: samples of anything on the node, and of the GPU. A sample holds until the next, or for one interval where
-- the next is more than three intervals away. The interval is the median of the eleven around it.
samples as materialized (
    select
        gpu,
        cluster,
        node,
        epoch_us(ts) as t,
        max(coalesce(gr_active, sm_active)) as active,
        max(coalesce(nullif(hpc_job, ''), nullif(pod, ''), pod_uid)) as holder
    from gpu_scrapes join gpus using (cluster, gpu_uuid)
    where ts >= $start - interval 35 minute and ts < $end + interval 35 minute
    group by all
),
in_order as materialized (
    select
        *,
        lead(t) over each - t as gap,
        lag(holder) over each as holder_before,
        sum(case when active >= 0.01 then 1 else 0 end) over each as run
    from samples
    window each as (partition by gpu order by t)
),
node_samples as materialized (
    select *, median(gap) over (partition by cluster, node order by t rows between 5 preceding and 5 following) as pace
    from (
        select cluster, node, t, lead(t) over (partition by cluster, node order by t) - t as gap
        from (select distinct cluster, node, t from samples)
    )
),
node_seen as materialized (
    select cluster, node, min(t) as t, true as seen from node_samples group by cluster, node
    union all
    select cluster, node, unnest([t + coalesce(pace, 0)::BIGINT, t + gap]), unnest([false, true])
    from node_samples
    where gap is null or gap > 3 * pace
),
gpu_seen as materialized (
    select gpu, min(t) as t, true as seen from samples group by gpu
    union all
    select gpu, unnest([t + coalesce(pace, 0)::BIGINT, t + in_order.gap]), unnest([false, true])
    from (select * from in_order where gap is null or gap > 3 * (select min(pace) from node_samples)) as in_order
    join node_samples using (cluster, node, t)
    where in_order.gap is null or in_order.gap > 3 * pace
),
-- Who holds the GPU by the labels that Slurm or Kubernetes put on its samples.
holders as materialized (select gpu, t, holder from in_order where holder is distinct from holder_before),
-- A stretch of 30 minutes or more without work, from its first sample to its last.
idle_runs as materialized (
    select gpu, min(t) as t, max(t) as until_us
    from in_order
    where active < 0.01
    group by gpu, run
    having max(t) - min(t) >= 30 * 60 * 1000000
),

-- Layer 3: what the node's health says. Silence is judged by the samples above, so that state unknown changes nothing.
health as materialized (
    select cluster, node, t, word
    from (
        select *, lag(word) over (partition by cluster, node order by t) as before
        from (
            select cluster, node, epoch_us(ts) as t,
                case when not bool_and(schedulable and state <> 'cordoned') then 'out_of_service'
                    when bool_or(state = 'suspect') then 'unhealthy_in_pool' else 'usable' end as word
            from node_scores
            where ts >= $start - interval 180 day and ts < $end and state <> 'unknown'
            group by cluster, node, ts
        )
    )
    where word is distinct from before
),

-- Layer 5, as far as layer 4 needs it: the steps. Reports that came twice count once.
reported as materialized (
    select
        cluster,
        job,
        attempt,
        rank,
        step,
        phase,
        any_value(node) as node,
        min(coalesce(epoch_us(start_at), epoch_us(ts) - (coalesce(step_s, 0) * 1e6)::BIGINT)) as t,
        max(coalesce(epoch_us(start_at), epoch_us(ts) - (coalesce(step_s, 0) * 1e6)::BIGINT)) as last_t,
        greatest(max(coalesce(step_s, 0))::DOUBLE, 0) as step_s,
        max(compute_s) as compute_s,
        max(coalesce(data_s, 0)) as data_s,
        max(checkpoint_s) as checkpoint_s,
        min(epoch_us(start_at) + (step_s * 1e6)::BIGINT - epoch_us(ts)) as ahead_us
    from rank_steps
    where ts >= $start - interval 2 hour and ts < $end + interval 2 hour
    group by cluster, job, attempt, rank, step, phase
),
-- No step ends after its report was closed: where all of a node's do, its clock is ahead by as much.
skews as materialized (
    select cluster, node, max(ahead_us) as ahead_us from reported group by cluster, node having min(ahead_us) > 0
),
job_pace as materialized (
    -- The pace of an hour is the fastest hourly median of it and the two before: a hang does not make itself usual.
    select cluster, job, attempt, h, min(own_s) over (
        partition by cluster, job, attempt order by h range between 2 preceding and current row
    ) as usual_s
    from (
        select cluster, job, attempt, t // 3600000000 as h,
            coalesce(median(step_s) filter (where phase = 'train'), median(step_s)) as own_s
        from reported where phase in ('warmup', 'train') group by all
    )
),
first_steps as materialized (
    select cluster, job, attempt, min(step) as first_step, min(epoch_us(coalesce(start_at, ts))) as t
    from rank_steps
    where ts >= $start - interval 2 hour and ts < $end + interval 48 hour
    group by cluster, job, attempt
),
redone as materialized (
    -- What a later attempt began at or before was done again.
    select this.cluster, this.job, this.attempt, list({'step': later.first_step, 't': later.t}) as redos
    from first_steps as this join first_steps as later
        on this.cluster = later.cluster and this.job = later.job and this.attempt < later.attempt
    group by all
),

-- Layer 4: which rank holds the GPU. A placement holds until the job's next one, or until its attempt or a later one ended;
-- a job that told of itself and then nothing for a day is over.
-- A scheduler tells a GPU by its number on the node: the one that was last seen there.
indexes as materialized (
    select cluster, node, gpu_index, arg_max(gpu_uuid, last_at) as gpu_uuid
    from gpu_days
    where day >= $start::DATE - interval 15 day and day <= $end::DATE and gpu_index is not null
    group by all
),
placings as materialized (
    select distinct
        cluster, job, attempt, rank, coalesce(placements.gpu_uuid, indexes.gpu_uuid) as gpu_uuid, pp, epoch_us(ts) as t
    from placements left join indexes using (cluster, node, gpu_index)
    where ts >= $start - interval 180 day and ts < $end
),
moments as materialized (
    select cluster, job, attempt, kind, source, epoch_us(ts) as t
    from job_days
    where day >= $start::DATE - interval 180 day and ts < $end
),
stepped as materialized (
    -- Up to which attempt a job has stepped by the end of each hour.
    select cluster, job, epoch_us(hour) + 3600000000 as t, max(max(attempt)) over (partition by cluster, job order by hour) as attempt
    from mfu_hourly
    where hour >= $start - interval 180 day and hour < $end
    group by cluster, job, hour
),
last_heard as materialized (
    select cluster, job, max(t) as t
    from (
        select cluster, job, max(t) as t, bool_or(kind = 'heartbeat') as tells from moments group by all
        union all
        select cluster, job, max(t), true from stepped group by all
        union all
        select cluster, job, max(t), true from reported group by all
    )
    group by cluster, job
    having bool_or(tells)
),
turns as (
    select cluster, job, attempt, t, lead(t) over (partition by cluster, job order by t, attempt) as next_t
    from (select distinct cluster, job, attempt, t from placings)
),
stays as materialized (
    select
        turns.cluster,
        turns.job,
        turns.attempt,
        turns.t,
        least(
            coalesce(any_value(next_t), 9e18::BIGINT),
            coalesce(min(ended.t), 9e18::BIGINT),
            coalesce(any_value(last_heard.t) + 86400000000, 9e18::BIGINT)
        ) as until_us
    from turns
    left join (select * from moments where kind = 'ended') as ended
        on ended.cluster = turns.cluster and ended.job = turns.job and ended.t > turns.t
        -- A scheduler counts its own restarts only: a thousand stand for one.
        and (ended.attempt >= turns.attempt or (ended.source is not null and ended.attempt // 1000 >= turns.attempt // 1000))
    left join last_heard on last_heard.cluster = turns.cluster and last_heard.job = turns.job
    group by all
),
job_steps as materialized (select cluster, job, max(t) as last_t from reported group by cluster, job),
claims as materialized (
    select gpu, placings.cluster, placings.job, rank, placings.t, until_us, coalesce(last_t, 0) as last_t
    from placings
    join stays using (cluster, job, attempt, t)
    join gpus using (cluster, gpu_uuid)
    left join job_steps using (cluster, job)
    cross join bounds
    where until_us > a - 30 * 60000000
),
-- Of two jobs on one GPU the one that came last has it; the other has it again only when it stepped since.
seats as materialized (
    select edges.gpu, edges.t, first({'cluster': claims.cluster, 'job': job, 'rank': rank} order by claims.t desc, rank)
        filter (where job is not null) as seat
    from (
        select gpu, t, max(began) over (partition by gpu order by t range unbounded preceding) as began
        from (select gpu, t, max(began) as began from (
            select gpu, t, t as began from claims union all select gpu, until_us, null from claims
        ) group by gpu, t)
    ) as edges
    left join claims on claims.gpu = edges.gpu and claims.t <= edges.t and claims.until_us > edges.t
        and (claims.t = edges.began or claims.last_t > edges.t)
    group by edges.gpu, edges.t
),

-- The pieces.
cuts as (
    select gpu, unnest([t, until_us]) as t from spans
    union
    select gpu, t from gpu_seen
    union
    select gpu, node_seen.t from node_seen join (select distinct gpu, cluster, node from spans) using (cluster, node)
    union
    select gpu, t from holders
    union
    select gpu, unnest([t, until_us]) from idle_runs
    union
    select gpu, health.t from health join (select distinct gpu, cluster, node from spans) using (cluster, node)
    union
    select gpu, t from seats
    union
    select gpu, t + 30 * 60000000 from seats where seat is null
    union
    select gpu, unnest(range(a, b, 3600000000)) from gpus, bounds
),
pieces as (
    select gpu, t, lead(t) over (partition by gpu order by t) as until_us
    from cuts, bounds where t >= a and t <= b
),
layered as (
    select
        pieces.*,
        spans.cluster,
        coalesce(node_seen.seen, false) as node_seen,
        coalesce(gpu_seen.seen, false) as gpu_seen,
        coalesce(health.word, 'usable') as word,
        seats.seat,
        holders.holder,
        -- Its holder stayed when its job's attempt ended, less than half an hour ago: it is being restarted.
        coalesce(holders.t <= seats.t and pieces.t < seats.t + 30 * 60000000, false) as between_attempts,
        coalesce(pieces.t < idle_runs.until_us, false) as idle
    from pieces
    asof join spans on pieces.gpu = spans.gpu and pieces.t >= spans.t
    asof left join node_seen
        on spans.cluster = node_seen.cluster and spans.node = node_seen.node and pieces.t >= node_seen.t
    asof left join gpu_seen on pieces.gpu = gpu_seen.gpu and pieces.t >= gpu_seen.t
    asof left join health on spans.cluster = health.cluster and spans.node = health.node and pieces.t >= health.t
    asof left join seats on pieces.gpu = seats.gpu and pieces.t >= seats.t
    asof left join holders on pieces.gpu = holders.gpu and pieces.t >= holders.t
    asof left join idle_runs on pieces.gpu = idle_runs.gpu and pieces.t >= idle_runs.t
    where pieces.t < spans.until_us and pieces.until_us > pieces.t
),
starts as materialized (
    select cluster, job, max(attempt) as attempt, t
    from (
        select cluster, job, attempt, t from moments where kind in ('placed', 'started', 'restarted')
        union all
        select cluster, job, attempt, t from placings
    )
    group by cluster, job, t
),
named as materialized (
    select
        layered.gpu,
        layered.cluster,
        layered.seat.job as job,
        layered.seat.rank as rank,
        layered.t,
        layered.until_us,
        layered.t // 3600000000 as h,
        idle,
        case
            when not node_seen then 'no_data'
            when not gpu_seen then 'down'
            when word <> 'usable' then word
            when seat is null and holder is null then 'idle'
            when seat is null and idle then 'reserved_idle'
            when seat is null then case when between_attempts then 'startup' else 'allocated_uninstrumented' end
            -- A job is known to tell its steps when it has, or will within two days.
            when stepped.attempt is null and coalesce(first_told.t >= layered.until_us + 48 * 3600000000, true) then
                case when idle then 'reserved_idle' else 'allocated_uninstrumented' end
        end as bucket,
        -- Where no step is told of: hung, when the attempt has stepped before, else still starting.
        case when idle then 'reserved_idle' when stepped.attempt >= starts.attempt then 'stalled' else 'startup' end as otherwise
    from layered
    left join (select cluster, job, min(t) as t from first_steps group by all) as first_told
        on first_told.cluster = layered.cluster and first_told.job = seat.job
    asof left join stepped
        on stepped.cluster = layered.cluster and stepped.job = layered.seat.job and layered.t >= stepped.t
    asof left join starts
        on starts.cluster = layered.cluster and starts.job = layered.seat.job and layered.t >= starts.t
),

-- Layer 5: what the rank did. A rank that told nothing is taken to have done what the job's first telling rank did.
tellers as materialized (select cluster, job, min(rank) as first_rank, list(distinct rank) as ranks from reported group by all),
pieces_held as materialized (
    select named.*, case when list_contains(ranks, rank) then rank else first_rank end as teller
    from named left join tellers using (cluster, job)
    where bucket is null
),
ranks as materialized (
    select cluster, job, teller as rank, row_number() over (order by cluster, job, teller) as id
    from (select distinct cluster, job, teller from pieces_held where teller is not null)
),
-- By attempt, or where the attempt was not placed by itself (its number is the framework's), as the rank was placed last.
roles as (select cluster, job, attempt, rank, arg_max(coalesce(pp, 0), t) as pp from placings group by all),
last_roles as (select cluster, job, rank, arg_max(coalesce(pp, 0), t) as pp from placings group by all),
excess as materialized (
    -- What the slowest rank of any pipeline stage took beyond its peers, where it is 10 % or more.
    select cluster, job, attempt, step, max(excess_s) as excess_s
    from (
        select cluster, job, attempt, step, max(compute_s) - median(compute_s) as excess_s
        from reported
        left join roles using (cluster, job, attempt, rank)
        left join last_roles using (cluster, job, rank)
        where phase in ('warmup', 'train') and compute_s is not null
        group by cluster, job, attempt, step, coalesce(roles.pp, last_roles.pp, 0)
        having max(compute_s) >= 1.10 * median(compute_s)
    )
    group by all
),
passes as (
    select reported.* exclude (t, last_t), t - coalesce(skews.ahead_us, 0) as t, last_t > t as again
    from reported left join skews using (cluster, node)
    union all
    -- The same step of the same attempt done again, after a restart inside the process.
    select reported.* exclude (t, last_t), last_t - coalesce(skews.ahead_us, 0) as t, false as again
    from reported left join skews using (cluster, node)
    where last_t > t
),
steps as materialized (
    select
        id,
        passes.cluster,
        passes.job,
        passes.attempt,
        passes.t,
        passes.step,
        phase,
        (step_s * 1e6)::BIGINT as step_us,
        again or redos is not null and len(list_filter(
            redos, lambda redo: redo.step <= passes.step and redo.t <= passes.t + 48 * 3600000000
        )) > 0 as lost,
        least(coalesce(checkpoint_s, case when phase = 'checkpoint' then step_s else 0 end), step_s) as checkpoint_s,
        step_s - least(coalesce(checkpoint_s, case when phase = 'checkpoint' then step_s else 0 end), step_s) as rest_s,
        data_s,
        coalesce(excess_s, 0) as excess_s,
        usual_s,
        (3e6 * greatest(coalesce(usual_s, 1), 1))::BIGINT as pause_us,
        lead(passes.t) over each as next_t,
        lead(passes.step) over each as next_step
    from passes
    join ranks using (cluster, job, rank)
    left join redone using (cluster, job, attempt)
    left join job_pace on job_pace.cluster = passes.cluster and job_pace.job = passes.job
        and job_pace.attempt = passes.attempt and job_pace.h = passes.t // 3600000000
    left join excess on excess.cluster = passes.cluster and excess.job = passes.job
        and excess.attempt = passes.attempt and excess.step = passes.step
    window each as (partition by id order by passes.t, step_s)
),
job_ends as (select cluster, job, max(t + step_us) as t from steps group by all),
worked as materialized (
    -- A short pause belongs to the step before it, and so do steps that were done but not told: their numbers are missing.
    -- Of a last step nobody knows yet what follows: it gets a pause, or what its peers did since.
    select
        steps.*,
        case
            when next_t is null then greatest(steps.t + step_us, job_ends.t) + pause_us
            when next_t - steps.t - step_us <= pause_us then next_t
            when next_step > step + 1 and next_t - steps.t - step_us <= pause_us + 2e6 * usual_s * (next_step - step - 1) then next_t
            else steps.t + step_us
        end::BIGINT as until_us
    from steps join job_ends using (cluster, job)
),
gaps as materialized (
    select worked.id, worked.until_us as t, coalesce(worked.next_t, 9e18::BIGINT) as until_us, min(starts.t) as start_t
    from worked
    left join starts on starts.cluster = worked.cluster and starts.job = worked.job and starts.t > worked.t
        and starts.t < coalesce(worked.next_t, 9e18::BIGINT)
    where worked.until_us < coalesce(next_t, 9e18::BIGINT)
    group by all
),
doings as (
    select
        id,
        t,
        case when next_t is null then t + step_us else until_us end as until_us,
        case when lost then 'lost' when phase = 'restart' then 'startup' else 'productive' end as bucket,
        case when next_t is null then 1 else least(step_us / nullif(until_us - t, 0), 1) end * case when lost or phase = 'restart' then 0 else 1 end as scale,
        coalesce(checkpoint_s / nullif(step_s, 0), 0) as checkpoint_share,
        -- What a first step takes beyond the usual is compilation and warming up.
        case when phase = 'warmup' then coalesce(greatest(0, 1 - usual_s / nullif(rest_s, 0)), 0) else 0 end as startup_share,
        -- Waiting for data beyond a tenth of the step is a stall; so is what a step of five times the usual took beyond it.
        greatest(
            case when data_s > 0.1 * rest_s then least(coalesce(data_s / nullif(rest_s, 0), 0), 1) else 0 end,
            case when phase = 'train' and rest_s > 5 * usual_s then 1 - usual_s / rest_s else 0 end
        ) as stalled_share,
        least(coalesce(greatest(excess_s, 0) / nullif(rest_s, 0), 0), 1) as straggled_share
    from (select *, step_us / 1e6 as step_s from worked)
    union all by name
    select id, t + step_us as t, until_us, case when lost then 'lost' else 'productive' end as bucket, 0 as scale
    from worked where next_t is null
    union all by name
    select id, t, least(until_us, greatest(t, coalesce(start_t, until_us))) as until_us, 'stalled' as bucket, 0 as scale from gaps
    union all by name
    select id, greatest(t, start_t) as t, until_us, 'startup' as bucket, 0 as scale from gaps where start_t is not null
),
by_hour as (
    select doings.*, unnest(range(greatest(t, a) // 3600000000, (least(until_us, b) + 3599999999) // 3600000000)) as h
    from doings, bounds
    where until_us > t and until_us > a and t < b
),
shares as (
    select
        held.cluster,
        held.h,
        otherwise,
        case when idle and scale = 0 and doings.bucket in ('stalled', 'startup') then 'reserved_idle' else doings.bucket end as bucket,
        scale,
        least(held.until_us, doings.until_us) - greatest(held.t, doings.t) as us,
        floor(us * scale * checkpoint_share)::BIGINT as checkpoint_us,
        floor((us * scale - checkpoint_us) * startup_share)::BIGINT as startup_us,
        floor((us * scale - checkpoint_us - startup_us) * stalled_share)::BIGINT as stalled_us,
        floor((us * scale - checkpoint_us - startup_us - stalled_us) * straggled_share)::BIGINT as straggled_us
    from pieces_held as held
    join ranks on ranks.cluster = held.cluster and ranks.job = held.job and ranks.rank = held.teller
    join by_hour as doings on doings.id = ranks.id and doings.h = held.h and doings.t < held.until_us and doings.until_us > held.t
),
spread as (
    select cluster, h, bucket, until_us - t as us from named where bucket is not null
    union all
    -- What a job holds, less what its steps account for.
    select cluster, h, otherwise, until_us - t from named where bucket is null
    union all
    select cluster, h, otherwise, -us from shares
    union all
    select cluster, h, 'checkpoint', checkpoint_us from shares where scale > 0
    union all
    select cluster, h, 'startup', startup_us from shares where scale > 0
    union all
    select cluster, h, 'stalled', stalled_us from shares where scale > 0
    union all
    select cluster, h, 'straggled', straggled_us from shares where scale > 0
    union all
    select cluster, h, bucket, us - coalesce(checkpoint_us + startup_us + stalled_us + straggled_us, 0) from shares
)
select
    make_timestamp(h * 3600000000) at time zone 'UTC' as hour,
    cluster,
    bucket,
    sum(us)::BIGINT as gpu_us,
    $as_of::TIMESTAMPTZ as as_of
from spread
group by all
having sum(us) <> 0
