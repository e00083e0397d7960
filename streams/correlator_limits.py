"""How findings are joined: one frozen set of numbers."""

from dataclasses import dataclass

S = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrelatorLimits:
    """How findings are joined in time. Starting points of ours, to be fitted on real incidents."""

    join_us: int = 120 * S
    """Episodes that overlap, give or take this, may be cause and effect."""
    hold_us: int = 10 * S
    """How long a symptom waits for its cause before it is told on its own."""
    link_hold_us: int = 20 * S
    """The same for a link that is down, a ticket: its host or rack is known to be silent after three of its own
    intervals. Ours."""
    settle_us: int = 60 * S
    """All must have been clear for this long: a flap within it is one incident."""
    update_us: int = 30 * S
    """Least time between two updates that bring neither a new cause nor a graver severity."""
    together_us: int = 60 * S
    """Parts with a like fault (silence, heat in a rack, cables of a switch) that begins within this of each other have
    it together, ..."""
    together: int = 3
    """... when they are at least so many: one incident for what they share. Both ours."""
    together_share: float = 0.005
    """... and at least this share of the nodes that are known, where they share neither rack nor switch: of a thousand
    collectors three fall silent within a minute by chance. Ours."""
    together_of: int = 500
    """Two nodes that fall silent within that time have it together where no more nodes than this could: all that are
    known, or those of a job, a rack or a switch that both belong to. At 6.5 failures per 1,000 node-days (RSC-1 in
    Kokolis et al., "Revisiting Reliability in Large-Scale Machine Learning Research Clusters", HPCA 2025) two of 500
    fail within a minute of each other by chance once in four months, two of 5,000 every 33 hours. Ours."""
    braked_us: int = 10 * S
    """Power brakes within this of each other come from one rack controller or feed, where no rack is known."""
    braked: int = 2
    """Nodes of one rack that brake together: the brake is asserted from outside the node (HW power brake, driven by
    the power supply or the rack), so two are no coincidence. The number is ours."""
    gpus: int = 3
    """GPUs of one node with the same fault together are a fault of the node, when they are at least so many ..."""
    gpus_share: float = 0.5
    """... and at least this share of the node's GPUs. Both ours: independent faults of that many GPUs within a minute
    are rarer than a fan, a pump or a power supply that fails."""
    gather_us: int = 5 * S
    """How long the second such part waits for a third before it is told on its own; ours."""
    forget_us: int = 3600 * S
    """How long a closed case is remembered, so that a finding delivered again opens nothing."""
