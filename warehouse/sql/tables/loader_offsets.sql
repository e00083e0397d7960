-- Grain: topic x partition. The next offset to load; written in the transaction that writes the rows before it.
-- topic_id is Kafka's own id of the topic: another one means that the topic was made anew, and loading begins at its start.
create table if not exists loader_offsets (
    topic VARCHAR,
    partition INTEGER,
    topic_id VARCHAR,
    next_offset BIGINT,
    loaded_at TIMESTAMPTZ
)
