-- Grain: cluster x job x communicator x rank x sequence number: one finished collective as one rank saw it.
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
    peer INTEGER
)
