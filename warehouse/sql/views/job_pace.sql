-- Grain: cluster x job x attempt x step. The step took as long as its slowest rank; slowest_rank is the one that computed longest.
-- tokens may be summed over steps of one attempt; a step repeated by a later attempt counts again.
create or replace view job_pace as
select
    cluster,
    job,
    attempt,
    step,
    min(coalesce(start_at, ts)) as started_at,
    count(distinct rank) as ranks,
    any_value(phase) as phase,
    max(step_s) as step_s,
    median(compute_s) as compute_median_s,
    max(compute_s) as compute_max_s,
    arg_max(rank, compute_s) as slowest_rank,
    arg_max(node, compute_s) as slowest_node,
    sum(tokens) as tokens,
    sum(tokens) / nullif(max(step_s), 0) as tokens_per_s
from rank_steps
group by cluster, job, attempt, step
