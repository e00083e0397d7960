-- Grain: cluster x job x UTC hour. MFU is model_flop / peak_flop.
select
    hour,
    cluster,
    job,
    sum(gpu_s) as gpu_s,
    sum(tokens) as tokens,
    case when count(model_flop) = count(*) then sum(model_flop) end as model_flop,
    case when count(peak_flop) = count(*) then sum(peak_flop) end as peak_flop,
    string_agg(distinct reason, '; ' order by reason) as reason
from mfu_hourly
where hour >= $start and hour < $end
group by hour, cluster, job
order by hour, cluster, job
