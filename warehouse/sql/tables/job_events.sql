-- Grain: one event in a job's life, per topic that carried it: a placed event may stand twice, from job.events and job.placements.
-- source: who told a placement or an end, NULL: the job itself. aliases: its number at the scheduler, its pods.
-- config_hash: what the job runs with from here on; a change while it runs is a note of state config.
-- The placement itself stands in placements, one row a rank.
create table if not exists job_events (
    cluster VARCHAR,
    job VARCHAR,
    attempt INTEGER,
    ts TIMESTAMPTZ,
    topic VARCHAR,
    kind VARCHAR,
    ranks INTEGER,
    model VARCHAR,
    params DOUBLE,
    active_params DOUBLE,
    layers INTEGER,
    heads INTEGER,
    head_dim INTEGER,
    seq_len INTEGER,
    dtype VARCHAR,
    flops_per_token DOUBLE,
    state VARCHAR,
    reason VARCHAR,
    step BIGINT,
    bytes BIGINT,
    seconds DOUBLE,
    rank INTEGER,
    node VARCHAR,
    pid BIGINT,
    source VARCHAR,
    aliases VARCHAR[],
    config_hash VARCHAR
)
