-- Grain: cluster x job x attempt x GPU model x UTC hour (of a step's start). Add model_flop and peak_flop, never a ratio.
-- tokens are a data-parallel replica's: its ranks report the same ones, so each rank stands for its share of them.
-- Convention: PaLM (arXiv 2204.02311, appendix B): 6N + 12LHQT a token; packed batches have sum(l^2) in place of tokens x T.
-- Fallback: the job's own flops_per_token, the model's shape, the framework's printed TFLOP/s, else NULL.
-- A checkpoint inside a step is not the step's: usable_compute has it, and the two may be multiplied.
-- A job that started long ago is still placed: placements and events are looked for in the 180 days before.
with
steps as (
    select
        cluster,
        job,
        attempt,
        rank,
        step,
        coalesce(start_at, ts) as began,
        greatest(max(step_s) - coalesce(max(checkpoint_s), 0), 0) as step_s,
        max(tokens) as tokens,
        max(sum_sq_len) as sum_sq_len,
        max(tflops_per_gpu) as tflops
    from rank_steps
    where ts >= $start - interval 1 hour and ts < $end + interval 6 hour
        and coalesce(start_at, ts) >= $start and coalesce(start_at, ts) < $end
        and (phase in ('warmup', 'train') or (phase = 'checkpoint' and checkpoint_s is not null))
    group by cluster, job, attempt, rank, step, coalesce(start_at, ts)
),
placed as (
    select cluster, job, attempt, rank, ts, coalesce(dp, rank) as replica, gpu_uuid, gpu_model
    from placements
    -- A scheduler's rows are no ranks.
    where ts >= $start - interval 180 day and ts < $end and rank >= 0
),
-- By attempt, or where the attempt was not placed by itself (its number is the framework's), as the job was placed last.
attempts as (select distinct cluster, job, attempt from steps),
sources as (
    select attempts.cluster, attempts.job, attempts.attempt,
        coalesce(max(placed.attempt) filter (where placed.attempt = attempts.attempt), arg_max(placed.attempt, placed.ts)) as placed_attempt
    from attempts join placed on placed.cluster = attempts.cluster and placed.job = attempts.job
    group by all
),
seats as (
    select
        sources.cluster,
        sources.job,
        sources.attempt,
        rank,
        arg_max(replica, ts) as replica,
        arg_max(gpu_uuid, ts) as gpu_uuid,
        arg_max(gpu_model, ts) as gpu_model
    from sources join placed
        on placed.cluster = sources.cluster and placed.job = sources.job and placed.attempt = sources.placed_attempt
    group by sources.cluster, sources.job, sources.attempt, rank
),
replicas as (
    select cluster, job, attempt, replica, count(*) as ranks from seats group by cluster, job, attempt, replica
),
boards as (
    select cluster, gpu_uuid, arg_max(model, day) as model
    from gpu_days
    where day >= $start::DATE - interval 15 day and day <= $end::DATE
    group by cluster, gpu_uuid
),
shapes as (
    select
        cluster,
        job,
        arg_max(flops_per_token, ts) as flops_per_token,
        6 * arg_max(coalesce(active_params, params), ts) as dense_flop,
        12 * arg_max(layers, ts) * arg_max(heads, ts) * arg_max(head_dim, ts) as attention_flop,
        arg_max(seq_len, ts) as seq_len,
        arg_max(dtype, ts) as dtype
    from job_days
    where day >= $start::DATE - interval 180 day and ts < $end
    group by cluster, job
),
work as (
    select
        steps.*,
        coalesce(seats.gpu_model, boards.model) as gpu_model,
        coalesce(replicas.ranks, 1) as sharers,
        shapes.dtype,
        peaks.peak_flops,
        case
            when steps.tokens is not null and shapes.flops_per_token is not null then 'job'
            when steps.tokens is not null and shapes.dense_flop is not null and shapes.attention_flop is not null
                and coalesce(steps.sum_sq_len, shapes.seq_len) is not null then 'shape'
            when steps.tflops is not null then 'framework'
        end as flops_from,
        case flops_from
            when 'job' then steps.tokens * shapes.flops_per_token / sharers
            when 'shape' then (
                steps.tokens * shapes.dense_flop
                + shapes.attention_flop * coalesce(steps.sum_sq_len, steps.tokens * shapes.seq_len)
            ) / sharers
            when 'framework' then steps.tflops * 1e12 * steps.step_s
        end as model_flop
    from steps
    left join seats using (cluster, job, attempt, rank)
    left join replicas using (cluster, job, attempt, replica)
    left join boards on boards.cluster = steps.cluster and boards.gpu_uuid = seats.gpu_uuid
    left join shapes on shapes.cluster = steps.cluster and shapes.job = steps.job
    left join peaks
        on peaks.gpu_model = coalesce(seats.gpu_model, boards.model)
        and peaks.dtype = shapes.dtype
    where steps.step_s is not null
)
select
    time_bucket(interval 1 hour, began) as hour,
    cluster,
    job,
    attempt,
    gpu_model,
    dtype,
    count(distinct rank) as gpus,
    count(distinct step) as steps,
    sum(tokens / sharers) as tokens,
    sum(step_s) as gpu_s,
    case when count(model_flop) = count(*) then sum(model_flop) end as model_flop,
    case when count(peak_flops) = count(*) then sum(step_s * peak_flops) end as peak_flop,
    case when count(model_flop) = count(*) then string_agg(distinct flops_from, ', ' order by flops_from) end as flops_from,
    nullif(concat_ws(
        '; ',
        case when gpu_model is null then 'GPU model not known' end,
        case when dtype is null then 'data type not told' end,
        case when gpu_model is not null and dtype is not null and count(peak_flops) < count(*)
            then 'no peak for ' || gpu_model || ' in ' || dtype end,
        case when count(tokens) < count(*) and count(model_flop) < count(*) then 'steps without tokens' end,
        case when count(model_flop) < count(*) and count(tokens) = count(*) then 'no FLOP a token and no model shape' end
    ), '') as reason,
    $as_of::TIMESTAMPTZ as as_of
from work
group by time_bucket(interval 1 hour, began), cluster, job, attempt, gpu_model, dtype
