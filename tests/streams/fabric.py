"""Scrapes of switches and NICs made up for tests."""

from collections.abc import Mapping, Sequence
from typing import Any

from collectors.contract.fabric import CounterForm, Port, PortScrape
from collectors.contract.kernel import KernelEvent, KernelKind
from collectors.contract.message import Message
from streams.contract import Finding
from streams.detector import Detector, Tick

S = 1_000_000
MINUTE = 60 * S
Cells = Sequence[int | float | None]


def ports(at_s: float, columns: Mapping[str, Cells | int | float | None], **more: Any) -> PortScrape:
    """Ports eth0, eth1, ... of `leaf1`; a single value is that of eth0 alone. `up`, `speed`: of every port."""
    cells = {n: list(c) if isinstance(c, Sequence) else [c] for n, c in columns.items()}
    count = max((len(c) for c in cells.values()), default=1)
    up, speed = more.pop("up", None), more.pop("speed", 400.0)
    layer = more.pop("link_layer", "ethernet")
    given: dict[str, Any] = {
        "device": "leaf1",
        "epoch": "1",
        "ports": [Port(name=f"eth{i}", speed_gbps=speed, link_layer=layer, oper_up=up) for i in range(count)],
    }
    return PortScrape(**{**given, "ts_us": round(at_s * S), "columns": cells, **more})


def host(at_s: float, columns: Mapping[str, Cells | int | float | None], **more: Any) -> PortScrape:
    """The same of the NICs of node `n1`."""
    return ports(at_s, columns, **{"device": "n1", "node": "n1", "kind": "nic", **more})


def line(at_s: float, kind: KernelKind, device: str = "eth0") -> KernelEvent:
    """A line of the kernel's log of node `n1`."""
    return KernelEvent(node="n1", ts_us=round(at_s * S), kind=kind, device=device)


def saturating(bits: int, *names: str) -> dict[str, CounterForm]:
    return {name: CounterForm(kind="saturating_counter", bits=bits) for name in names}


def run(detector: Detector[Any], *items: Message | Tick) -> list[Finding]:
    return detector.step(detector.fresh(), items)[1]


def edges(found: Sequence[Finding]) -> list[tuple[str, str, str, str, int]]:
    return [(f.state, f.severity, f.cause, f.subject.id, f.ts_us // S) for f in found]
