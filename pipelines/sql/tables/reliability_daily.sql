-- Grain: cluster x UTC day. Availability is 1 - (down_us + out_of_service_us) / installed_us, of GPUs.
-- MTBF of a node is up_us / failures, MTTR is repair_us / repairs: add all of them over days, never the quotients.
-- A failure is a node that health took out of service; a repair stands on the day it ended, with its whole length. A node
-- still out of service has told its up time and no repair yet.
create table if not exists reliability_daily (
    day DATE,
    cluster VARCHAR,
    installed_us BIGINT,
    down_us BIGINT,
    out_of_service_us BIGINT,
    nodes INTEGER,
    up_us BIGINT,
    failures INTEGER,
    repairs INTEGER,
    repair_us BIGINT,
    as_of TIMESTAMPTZ
)
