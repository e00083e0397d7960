-- Grain: cluster x node: its last score, 0 to 100, the lowest over its parts, and why.
create or replace view node_health as
select
    cluster,
    node,
    score,
    schedulable,
    state,
    list_transform(reasons, lambda reason: reason.cause) as causes,
    reasons,
    cordon,
    state_since,
    state_before,
    why,
    actor,
    evidence,
    ts as since
from node_scores
qualify row_number() over (partition by cluster, node order by ts desc) = 1
