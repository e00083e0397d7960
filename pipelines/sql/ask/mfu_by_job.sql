-- Grain: cluster x job, over the window. MFU is model_flop / peak_flop; NULL where part of the work is not known.
select
    cluster,
    job,
    string_agg(distinct gpu_model, ', ' order by gpu_model) as gpu_model,
    string_agg(distinct dtype, ', ' order by dtype) as dtype,
    max(gpus) as gpus,
    count(distinct attempt) as attempts,
    sum(steps) as steps,
    sum(tokens) as tokens,
    sum(gpu_s) as gpu_s,
    case when count(model_flop) = count(*) then sum(model_flop) end as model_flop,
    case when count(peak_flop) = count(*) then sum(peak_flop) end as peak_flop,
    string_agg(distinct flops_from, ', ' order by flops_from) as flops_from,
    string_agg(distinct reason, '; ' order by reason) as reason
from mfu_hourly
where hour >= $start and hour < $end
group by cluster, job
order by sum(gpu_s) desc
