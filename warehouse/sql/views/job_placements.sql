-- Grain: cluster x job x attempt x rank x stay: where a rank ran, from when to when.
-- A rank below zero is a GPU that a scheduler (source) gave to the job; it ends when the job tells its own ranks.
-- until_ts is NULL while it still runs there; a later placed event or the job's end closes it.
create or replace view job_placements as
with
    placed as (select distinct * exclude (topic) from placements),
    changes as (
        select distinct cluster, job, ts from placements
        union
        select cluster, job, ts from job_events where kind = 'ended'
    ),
    spans as (
        select
            cluster,
            job,
            ts,
            lead(ts) over (partition by cluster, job order by ts) as until_ts
        from changes
    )
select
    cluster,
    job,
    attempt,
    rank,
    node,
    gpu_uuid,
    gpu_model,
    dp,
    tp,
    pp,
    cp,
    ep,
    source,
    gpu_index,
    pod,
    virtual_stages,
    ts as from_ts,
    until_ts
from placed
join spans using (cluster, job, ts)
