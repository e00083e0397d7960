"""A bad driver that is rolled out: node after node loses a GPU to the same error, and each is a fault of its own."""

import math
from dataclasses import replace

from infra.fleet.fault import Fault
from infra.fleet.layout import Layout

EVERY_S = 30.0
"""From one node to the next, unless told."""
GSP = 119
"""The GPU's system processor does not answer: an error of drivers more than of boards (field studies of A100s)."""
WITHIN_S = 60.0


def parts(fault: Fault, layout: Layout) -> list[Fault]:
    """The rollout itself, which is told once it is more than the fleet may lose, and the GPUs that it takes."""
    every_s = EVERY_S if fault.every_s == math.inf else fault.every_s
    nodes = layout.node_names[: int(fault.size)]
    return [replace(fault, every_s=math.inf)] + [
        Fault(
            kind="xid",
            target=f"{node}/0",
            from_s=fault.from_s + every_s * place,
            to_s=fault.to_s,
            size=1.0,
            code=GSP,
            recovery="reboot",
            expect=(f"xid_{GSP}",),
            within_s=WITHIN_S,
        )
        for place, node in enumerate(nodes)
    ]
