-- Grain: one sweep of one collector over one target, or one report of a stream job or loader.
-- messages, samples, lost, bytes and the counts of ignored are of the sweep alone and may be summed; spooled is a moment and may not.
-- bytes: read from the target, 0 where the source does not count them. ignored: samples passed over, by reason.
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
    error VARCHAR,
    bytes BIGINT,
    ignored MAP(VARCHAR, BIGINT)
)
