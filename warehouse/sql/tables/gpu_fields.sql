-- Grain: cluster x node x GPU (or MIG instance, or other part of the node) x scrape x field. What gpu_scrapes has no column for.
-- field is the DCGM field id, NULL for a metric without one: then name holds the source's own name.
-- entity NULL: of the GPU. Else of a part of the node: nvlink, nvswitch, nvswitch_link, cpu, cpucore or node; part tells which
-- (nvswitch0, nvswitch0/3, core 0/17, link 3); gpu_uuid is then the GPU of the link, NULL where the part has none.
-- field and name NULL, entity node: the node answered and its page showed nothing, no GPU either.
-- Never sum over value: units differ by field. NULL value: it was sent and could not be read.
create table if not exists gpu_fields (
    cluster VARCHAR,
    node VARCHAR,
    ts TIMESTAMPTZ,
    source VARCHAR,
    gpu_uuid VARCHAR,
    mig VARCHAR,
    field INTEGER,
    name VARCHAR,
    value DOUBLE,
    entity VARCHAR,
    part VARCHAR
)
