"""What a name that a switch heard from its neighbour stands for: a node, a NIC or a switch of the fleet."""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Kind = Literal["switch", "nic", "node"]
KINDS: tuple[Kind, ...] = ("switch", "nic", "node")
"""Whatever tells of cables counts as a switch until it is known to be something else."""


class Host(NamedTuple):
    """A thing with a name on the network. `node`: the host that holds it, itself for a node."""

    name: str
    kind: Kind
    node: str | None = None


def same_name(one: str, other: str) -> bool:
    """Whether two names are one machine's: in any case, with its domain or without."""
    a, b = one.lower(), other.lower()
    return a == b or a.startswith(f"{b}.") or b.startswith(f"{a}.")


def label(name: str) -> str:
    """What two names of one machine have in common."""
    return name.lower().partition(".")[0]


@dataclass(slots=True)
class Hosts:
    """The names that the fleet itself uses, per cluster."""

    _known: dict[tuple[str, str], dict[str, Host]] = field(default_factory=dict)
    """Cluster and label -> name -> host."""

    def add(self, cluster: str, host: Host) -> bool:
        """Learn of a host; True if that was news. A node stays one, and a NIC, whatever else has its name."""
        known = self._known.setdefault((cluster, label(host.name)), {})
        former = known.get(host.name)
        if former == host or (former is not None and KINDS.index(host.kind) < KINDS.index(former.kind)):
            return False
        known[host.name] = host
        return True

    def find(self, cluster: str, said: str) -> Host | None:
        """The host that goes by this name; None where there is none, or more than one could be meant."""
        known = self._known.get((cluster, label(said)), {})
        if said in known:
            return known[said]
        alike = [host for host in known.values() if same_name(host.name, said)]
        return alike[0] if len(alike) == 1 else None
