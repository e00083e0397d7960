-- Grain: cluster x node x UTC day. Mean score is score_us / known_us: add both, never average scores.
create table if not exists fleet_health_daily (
    day DATE,
    cluster VARCHAR,
    node VARCHAR,
    gpus INTEGER,
    score_us DOUBLE,
    known_us BIGINT,
    unschedulable_us BIGINT,
    silent_us BIGINT,
    lowest_score REAL,
    last_score REAL,
    last_state VARCHAR,
    causes VARCHAR[],
    findings INTEGER,
    as_of TIMESTAMPTZ
)
