-- Grain: cluster x device x port x scrape x counter x index. What port_scrapes and port_classes have
-- no column for.
-- index is the priority, queue or group of the counter; NULL for a counter of the port. named = true: the source's own name.
-- count holds a whole number from 0 up, exact to 64 bits; value holds every other number; text holds words. One of the three
-- is set; all NULL: it was sent and could not be read.
-- Counter saturated:NAME (named = true): NAME stopped at its end at that port, at least so many; its column is NULL there.
-- Never sum across scrapes, nor over counters of different units.
create table if not exists port_fields (
    cluster VARCHAR,
    device VARCHAR,
    ts TIMESTAMPTZ,
    epoch VARCHAR,
    baseline BOOLEAN,
    port VARCHAR,
    counter VARCHAR,
    index VARCHAR,
    named BOOLEAN,
    count UBIGINT,
    value DOUBLE,
    text VARCHAR
)
