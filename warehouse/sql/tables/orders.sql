-- Grain: one order of a person (ack, mute, unmute, maintenance). The last row of an order_id is true.
create table if not exists orders (
    cluster VARCHAR,
    order_id VARCHAR,
    ts TIMESTAMPTZ,
    kind VARCHAR,
    incident VARCHAR,
    cause VARCHAR,
    parts VARCHAR[],
    from_at TIMESTAMPTZ,
    until_at TIMESTAMPTZ,
    ordered_by VARCHAR,
    why VARCHAR
)
