-- Grain: cluster x job x attempt. ended_at is NULL while it runs; state is the scheduler's or framework's word.
create or replace view jobs as
select
    cluster,
    job,
    attempt,
    min(ts) filter (where kind in ('placed', 'started', 'restarted')) as started_at,
    max(ts) filter (where kind = 'ended') as ended_at,
    max(ts) as heard_at,
    arg_max(state, ts) filter (where kind = 'ended') as state,
    arg_max(reason, ts) filter (where kind = 'ended') as reason,
    max(ranks) as ranks,
    list_distinct(flatten(list(aliases) filter (where aliases is not null))) as aliases,
    max(step) as last_step,
    count(*) filter (where kind = 'checkpoint') as checkpoints,
    sum(seconds) filter (where kind = 'checkpoint') as checkpoint_s,
    arg_max(model, ts) filter (where model is not null) as model,
    arg_max(config_hash, ts) filter (where config_hash is not null) as config_hash,
    max(params) as params,
    max(flops_per_token) as flops_per_token
from (select distinct * exclude (topic) from job_events)
group by cluster, job, attempt
