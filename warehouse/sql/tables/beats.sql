-- Grain: one sweep of one collector over one target, or one report of a stream job or loader.
-- messages, samples and lost are of the sweep alone and may be summed; spooled is a moment and may not.
create table if not exists beats (
    cluster VARCHAR,
    collector VARCHAR,
    ts TIMESTAMPTZ,
    source VARCHAR,
    target VARCHAR,
    subject VARCHAR,
    ok BOOLEAN,
    seconds DOUBLE,
    messages BIGINT,
    samples BIGINT,
    lost BIGINT,
    spooled BIGINT,
    interval_s DOUBLE,
    error VARCHAR
)
