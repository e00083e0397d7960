-- Grain: one statement of one node's health. It holds until the node's next one: the view node_health shows the last.
-- Never average score over rows: rows come at changes; weight by the time each held.
create table if not exists node_scores (
    cluster VARCHAR,
    node VARCHAR,
    ts TIMESTAMPTZ,
    score REAL,
    schedulable BOOLEAN,
    state VARCHAR,
    reasons STRUCT(cause VARCHAR, points DOUBLE, part VARCHAR, since TIMESTAMPTZ, finding VARCHAR)[],
    version INTEGER,
    cordon BOOLEAN,
    state_since TIMESTAMPTZ,
    state_before VARCHAR,
    why VARCHAR,
    actor VARCHAR,
    evidence VARCHAR[]
)
