"""Which element of the fabric hosts that retry have in common: the votes of paths, without the paths' counters.

A host's packets cross the switch at its cable and that switch's peers. The element that all or most of the hosts
share, and that carries few others, is the likeliest (the votes of 007, NSDI 2018, weighed by who does not complain).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from streams.contract import Candidate, Finding, Subject
from streams.world import World

MOST_CANDIDATES = 5


@dataclass(frozen=True, slots=True)
class Element:
    """A switch, and the hosts that retry over it."""

    cluster: str
    device: str
    hosts: frozenset[str]
    score: float

    @property
    def subject(self) -> Subject:
        """As a finding names it."""
        return Subject(kind="device", id=self.device, device=self.device)


def host_of(finding: Finding) -> str:
    """The host that retries."""
    return finding.subject.node or finding.subject.id


def hosts_retrying(findings: Iterable[Finding], world: World) -> dict[str, set[str]]:
    """Host -> switches that its retries may be on: those at the NIC's cable where the finding names one, and theirs."""
    out: dict[str, set[str]] = {}
    for finding in findings:
        s, c = finding.subject, finding.cluster
        host = host_of(finding)
        ports: set[str] = set()
        if s.device is not None:
            names = [s.port] if s.port is not None else []
            ends = {end for name in names for end in world.cables.ends(c, s.device, name)}
            ports = {end for end in ends if not end.startswith(f"{s.device}/")}
            ports = ports or {p for p in world.cables.of_node(c, host) if _leads_to(c, p, s.device, world)}
        ports = ports or world.cables.of_node(c, host)
        first = {port.partition("/")[0] for port in ports} - {host}
        out.setdefault(host, set()).update(first, *(world.cables.peers(c, device) for device in first))
    return out


def best_element(cluster: str, retrying: Mapping[str, set[str]], world: World, need: int) -> Element | None:
    """The likeliest of those that enough hosts share."""
    ranked = _ranked(cluster, retrying, world)
    return next((e for e in ranked if len(e.hosts) >= need), None)


def candidates(found: Element, retrying: Mapping[str, set[str]], world: World) -> list[Candidate]:
    """The element and those that the same hosts share as well, likeliest first."""
    return [
        Candidate(kind="device", id=e.device, score=round(e.score, 3), why=f"{len(e.hosts)} of the hosts cross it")
        for e in _ranked(found.cluster, retrying, world)[:MOST_CANDIDATES]
        if len(e.hosts & found.hosts) > 1
    ]


def is_quiet(cluster: str, device: str, told: Sequence[Finding], world: World) -> bool:
    """Does no port of a switch, and no far end of its cables, tell of loss or errors?"""
    for finding in told:
        s = finding.subject
        if s.device == device:
            return False
        if s.device is None or s.port is None:
            continue
        if any(end.partition("/")[0] == device for end in world.cables.ends(cluster, s.device, s.port)):
            return False
    return True


def _ranked(cluster: str, retrying: Mapping[str, set[str]], world: World) -> list[Element]:
    out: list[Element] = []
    for device in {d for devices in retrying.values() for d in devices}:
        hosts = frozenset(h for h, devices in retrying.items() if device in devices)
        below = world.cables.hosts_over(cluster, device) | hosts
        out.append(Element(cluster, device, hosts, len(hosts) / len(retrying) * len(hosts) / len(below)))
    return sorted(out, key=lambda e: (-e.score, -len(e.hosts), e.device))


def _leads_to(cluster: str, port: str, nic: str, world: World) -> bool:
    link = world.link(cluster, *port.partition("/")[::2])
    return link is not None and link.far_device == nic
