-- Grain: cluster x job x attempt x GPU model x UTC day. Hours whose FLOP are not known make the day's not known.
select
    hour::DATE as day,
    cluster,
    job,
    attempt,
    gpu_model,
    dtype,
    max(gpus) as gpus,
    sum(steps) as steps,
    sum(tokens) as tokens,
    sum(gpu_s) as gpu_s,
    case when count(model_flop) = count(*) then sum(model_flop) end as model_flop,
    case when count(peak_flop) = count(*) then sum(peak_flop) end as peak_flop,
    string_agg(distinct flops_from, ', ' order by flops_from) as flops_from,
    string_agg(distinct reason, '; ' order by reason) as reason,
    $as_of::TIMESTAMPTZ as as_of
from mfu_hourly
where hour >= $start and hour < $end
group by all
