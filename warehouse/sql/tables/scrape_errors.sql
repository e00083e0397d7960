-- Grain: cluster x subject (node or device) x scrape x part that could not be read.
-- part is a DCGM field id, a counter, a metric name or a part of the source.
create table if not exists scrape_errors (
    cluster VARCHAR,
    topic VARCHAR,
    subject VARCHAR,
    ts TIMESTAMPTZ,
    part VARCHAR,
    why VARCHAR
)
