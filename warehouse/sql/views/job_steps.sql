-- Grain: cluster x job x attempt x rank x step. Seconds are of the rank's own clock.
-- compute_s is the rank's own work without waiting: the straggler has the longest. Never sum step_s over ranks.
create or replace view job_steps as
select
    cluster,
    job,
    attempt,
    step,
    rank,
    node,
    coalesce(start_at, ts) as started_at,
    phase,
    step_s,
    compute_s,
    wait_s,
    transfer_s,
    data_s,
    checkpoint_s,
    cpu_s,
    tokens,
    tokens / nullif(step_s, 0) as tokens_per_s,
    tflops_per_gpu,
    global_batch_size,
    config_hash,
    ts as reported_at
from rank_steps
