-- Rows of job_events from $start up to before $end (Unix microseconds), in the order in which events are put together again.
select *, epoch_us(ts) as ts_us
from job_events
where ts >= make_timestamptz($start::BIGINT) and ts < make_timestamptz($end::BIGINT)
order by ts, cluster, job, topic
