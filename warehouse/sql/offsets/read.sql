-- Grain: topic x partition.
select topic, partition, topic_id, next_offset
from loader_offsets
