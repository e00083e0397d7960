-- Grain: one word of one source (a scheduler, an operator) on one node. The last of a source is true.
-- Never count rows as drains: a source repeats itself.
create table if not exists node_states (
    cluster VARCHAR,
    node VARCHAR,
    ts TIMESTAMPTZ,
    source VARCHAR,
    schedulable BOOLEAN,
    planned BOOLEAN,
    states VARCHAR[],
    reason VARCHAR,
    until_at TIMESTAMPTZ,
    rack VARCHAR,
    serial VARCHAR,
    set_by VARCHAR
)
