-- Grain: one rank of one placed event, per topic that carried it. The last event of a job is true as a whole: a rank that it
-- does not name is not placed. The view job_placements says from when to when. source NULL: the job itself; a scheduler knows
-- no ranks, its rows are numbered -1, -2, ... virtual_stages: the pipeline's stages that the rank holds, where that is not pp alone.
create table if not exists placements (
    cluster VARCHAR,
    job VARCHAR,
    attempt INTEGER,
    ts TIMESTAMPTZ,
    topic VARCHAR,
    rank INTEGER,
    node VARCHAR,
    gpu_uuid VARCHAR,
    gpu_model VARCHAR,
    dp INTEGER,
    tp INTEGER,
    pp INTEGER,
    cp INTEGER,
    ep INTEGER,
    source VARCHAR,
    gpu_index INTEGER,
    pod VARCHAR,
    virtual_stages INTEGER[]
)
