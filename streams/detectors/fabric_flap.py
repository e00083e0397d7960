"""Links that go down: once is a record, staying down or going down again and again a ticket.

A switch port and a NIC tell by their scrapes; a NIC that nobody scrapes by its node's kernel log, whose last word on
it stands while the node itself is seen. A link is well when it is up, and its penalty has decayed.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from collectors.contract.fabric import Port, PortScrape
from collectors.contract.gpu import GpuScrape
from collectors.contract.kernel import KernelEvent
from collectors.contract.message import Message
from collectors.contract.topic import Topic
from collectors.contract.topics import FABRIC_SCRAPES, GPU_SCRAPES, KERNEL_EVENTS
from streams.contract import Finding, Subject
from streams.counters import Change
from streams.detector import Tick
from streams.detectors.fabric_detector import FabricDetector
from streams.detectors.fabric_flap_findings import NAME, link_fault
from streams.detectors.fabric_flap_limits import LinkFlapLimits
from streams.detectors.fabric_flap_state import Flaps, FlapState, Seen
from streams.detectors.fabric_ports import make_room, port_subject, report

COUNTERS: dict[str, float] = {
    "port_link_down_events": 1.0,
    "ib_link_down_events": 1.0,
    "port_phy_transitions": 0.5,
    "port_link_transitions": 0.5,
    "port_oper_transitions": 0.5,
}
"""What one more is, in flaps; the first that is told counts. Up and down are two transitions (OpenConfig)."""


class LinkFlapDetector(FabricDetector[FlapState]):
    """A NIC's scrapes have the key of its node, as the node's kernel events and GPU scrapes do."""

    name = NAME
    topics: tuple[Topic[Any], ...] = (FABRIC_SCRAPES, KERNEL_EVENTS, GPU_SCRAPES)

    def __init__(self, limits: LinkFlapLimits | None = None) -> None:
        self.limits = limits or LinkFlapLimits()

    def fresh(self) -> FlapState:
        """The state of a device never seen."""
        return FlapState()

    def _take(self, state: FlapState, item: Message | Tick) -> Iterable[Finding]:
        if isinstance(item, KernelEvent):
            return self._line(state, item)
        if isinstance(item, GpuScrape) and state.kept.episodes.open:
            return self._alive(state, item)
        return super()._take(state, item)

    def _scrape(self, state: FlapState, scrape: PortScrape) -> list[Finding]:
        counters = [name for name in COUNTERS if name in scrape.columns]
        taken = state.ledger.take(scrape, counters, {})
        out: list[Finding] = []
        for row, port in enumerate(scrape.ports):
            seen = state.seen.get(port.name)
            if seen is not None and scrape.ts_us <= seen.ts_us:
                continue
            quiet = row not in taken and seen is not None and seen.up == port.oper_up
            if quiet and seen is not None and port.name not in state.kept.links:
                seen.ts_us = scrape.ts_us
                continue
            out += self._port(state, scrape, port, taken.get(row, {}), counters, seen)
        return out

    def _forget(self, state: FlapState, ports: set[str]) -> None:
        for port in ports:
            state.kept.links.pop(port, None)

    def _port(
        self,
        state: FlapState,
        scrape: PortScrape,
        port: Port,
        changes: Mapping[str, Change],
        counters: Sequence[str],
        seen: Seen | None,
    ) -> list[Finding]:
        name, ts_us, limits = port.name, scrape.ts_us, self.limits
        told = next((c for c in counters if state.ledger.told(c, name, ts_us)), None)
        flaps = 0.0
        went_down = seen is not None and seen.up is True and port.oper_up is False
        if told is not None:
            flaps = changes[told].grown * COUNTERS[told] if told in changes else 0.0
        elif went_down:
            flaps = 1.0
        if seen is None:
            make_room(state.seen, limits.most, lambda one: one.ts_us)
        up = port.oper_up if port.oper_up is not None or seen is None else seen.up
        state.seen[name] = Seen(ts_us, up, told is not None or port.oper_up is not None)
        muted = ts_us < state.muted_us
        link = state.kept.links.get(name)
        if link is None:
            if muted or (flaps == 0.0 and not went_down):
                return []
            link = self._follow(state, name, ts_us)
            if link is None:
                return []
        if muted:
            return []
        link.by_log = False
        link.by_counter = link.by_counter or told is not None
        if flaps > 0.0 and ts_us > link.counted_us:
            link.counted_us = ts_us
            link.add(ts_us, flaps, limits)
        if port.oper_up is not None and link.down is port.oper_up:
            link.say(ts_us, not port.oper_up)
        return self._judge(
            state,
            scrape.cluster,
            port_subject(scrape, name),
            ts_us,
            link,
            news=flaps > 0.0 or went_down,
            well=told is not None if link.by_counter else port.oper_up is True,
            source=told or "the port's state",
        )

    def _line(self, state: FlapState, event: KernelEvent) -> list[Finding]:
        """A line of the kernel's log; of one that is late or comes twice nothing changes but the history."""
        if event.kind not in ("link_down", "link_up") or not event.device:
            return []
        seen = state.seen.get(event.device)
        if seen is not None and seen.counted and abs(event.ts_us - seen.ts_us) <= self.limits.other_source_us:
            return []
        down = event.kind == "link_down"
        link = state.kept.links.get(event.device)
        if link is None:
            link = self._follow(state, event.device, event.ts_us) if down else None
            if link is None:
                return []
        known = not down or event.ts_us in link.times
        if not known:
            link.add(event.ts_us, 1.0, self.limits)
            known = event.ts_us not in link.times  # older than all that is remembered
        link.by_log = True
        link.say(event.ts_us, down)
        subject = Subject(
            kind="port",
            id=f"{event.node}/{event.device}",
            device=event.node,
            port=event.device,
            node=event.node,
        )
        return self._judge(
            state, event.cluster, subject, event.ts_us, link, news=not known, well=False, source="the kernel log"
        )

    def _alive(self, state: FlapState, scrape: GpuScrape) -> list[Finding]:
        """The node lives: what its kernel log said last of its links still stands."""
        if not any(value is not None for column in scrape.columns.values() for value in column):
            return []
        out: list[Finding] = []
        for name, link in state.kept.links.items():
            if link.by_log and name in state.kept.episodes.open and scrape.ts_us >= link.told_us:
                out += self._settle(state, name, link, scrape.ts_us)
        return out

    def _judge(
        self,
        state: FlapState,
        cluster: str,
        subject: Subject,
        ts_us: int,
        link: Flaps,
        *,
        news: bool,
        well: bool,
        source: str,
    ) -> list[Finding]:
        name = str(subject.port)
        last = state.kept.episodes.open.get(name)
        at_us = max(ts_us, link.times[-1] if link.times else 0)
        flapping = link.is_flapping(at_us, self.limits) or (last is not None and last.cause == "link_flap")
        if news or (link.down and last is None):
            finding = link_fault(self.limits, cluster, subject, ts_us, link, flapping, source)
            edge = report(state.kept.episodes, name, finding, self.limits.damping)
            return [] if edge is None else [edge]
        return self._settle(state, name, link, ts_us) if well else []

    def _settle(self, state: FlapState, name: str, link: Flaps, ts_us: int) -> list[Finding]:
        """Close the episode of a port that has been up for long enough."""
        last = state.kept.episodes.open.get(name)
        if last is None or link.down:
            return []
        over_us = link.over_us(self.limits, last.cause == "link_flap")
        if ts_us < over_us:
            return []
        edge = state.kept.episodes.clear(name, over_us, f"{last.subject.device} {name} has stayed up")
        return [] if edge is None else [edge]

    def _follow(self, state: FlapState, name: str, ts_us: int) -> Flaps | None:
        """Begin to follow a port; forget those of which a day tells nothing."""
        links = state.kept.links
        for other, link in list(links.items()):
            if other not in state.kept.episodes.open and ts_us - link.last_us > self.limits.long_us:
                del links[other]
        if len(links) >= self.limits.most:
            return None
        links[name] = Flaps()
        return links[name]
