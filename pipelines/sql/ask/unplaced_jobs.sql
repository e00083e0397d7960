-- Grain: cluster x job that told steps in the window and was never placed: no GPU is known to be its.
select rank_steps.cluster, rank_steps.job, count(distinct rank_steps.rank) as ranks
from rank_steps
anti join (select distinct cluster, job from placements where ts >= $start - interval 180 day) using (cluster, job)
where ts >= $start and ts < $end
group by rank_steps.cluster, rank_steps.job
order by rank_steps.job
