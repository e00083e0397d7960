-- Grain: what one row of a CollectiveWindow is, by source. nccl-inspector: one finished collective as one rank saw it;
-- nccl-ras: how many collectives (seq) one rank had launched at ts; flight-recorder: one operation that one rank recorded,
-- finished or not; nccl-inspector-prom and nccl-tests: means, rank and seq NULL. Always say which source you mean.
-- Never sum bytes or exec_us over ranks: all ranks of a communicator see the same collective.
-- The rank that came last has the shortest exec_us: it waited for nobody.
create table if not exists collectives (
    cluster VARCHAR,
    job VARCHAR,
    node VARCHAR,
    ts TIMESTAMPTZ,
    comm VARCHAR,
    comm_size INTEGER,
    comm_nodes INTEGER,
    comm_name VARCHAR,
    pid BIGINT,
    rank INTEGER,
    seq BIGINT,
    coll VARCHAR,
    bytes BIGINT,
    exec_us DOUBLE,
    algbw_gbs REAL,
    busbw_gbs REAL,
    timing VARCHAR,
    peer INTEGER,
    source VARCHAR,
    job_rank INTEGER,
    gpu_uuid VARCHAR,
    state VARCHAR,
    op_id BIGINT,
    created_at TIMESTAMPTZ,
    started_at TIMESTAMPTZ,
    completed_at TIMESTAMPTZ,
    dtype VARCHAR,
    algo VARCHAR,
    size_class VARCHAR,
    variant VARCHAR,
    wrong DOUBLE
)
