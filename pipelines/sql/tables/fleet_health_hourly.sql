-- Grain: cluster x node x UTC hour. Mean score is score_us / known_us: add both, never average scores.
-- known_us is the time with samples from the node; causes are those that held at any moment of the hour.
create table if not exists fleet_health_hourly (
    hour TIMESTAMPTZ,
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
