"""What no port can say of itself: loss that no counter of a switch shows, and a cable of which one end is well.

Findings in, further findings out. Rules F6 (grey loss: hosts that retry and share an element whose own counters are
quiet) and F7 (asymmetric link: one end reports errors, the other is clean and up). No clock, no Kafka, no log.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from msgspec import structs

from streams.contract import Evidence, Finding, finding_key, subject_key
from streams.fabric_joins_grey import Element, best_element, candidates, host_of, hosts_retrying, is_quiet
from streams.fabric_joins_state import NAME, JoinLimits, JoinState
from streams.world import World

RETRIES, BAD = "transport_retries", "bad_link"
TOLD_BY_PORTS = frozenset({"lossless_drop", "bad_link", "link_down", "link_flap", "pause_storm"})
HEARD = TOLD_BY_PORTS | {RETRIES}


@dataclass(slots=True)
class FabricJoins:
    """The step and what it looks at; all that is remembered stands in the state."""

    world: World
    limits: JoinLimits = field(default_factory=JoinLimits)

    def step(self, state: JoinState, finding: Finding) -> list[Finding]:
        """Take one edge in; what it brings about or ends."""
        if finding.cause not in HEARD or finding.detector == NAME or not state.hear(finding):
            return []
        ts_us = finding.ts_us
        return [*self._end_grey(state, ts_us), *self._grey(state, ts_us), *self._end_asymmetric(state, ts_us)]

    def tick(self, state: JoinState, now_us: int) -> list[Finding]:
        """The other end of a bad link or a switch had time to speak up, or a cable came to be known."""
        state.forget(now_us - self.limits.forget_us)
        if not state.heard:
            return []
        ended = [*self._end_grey(state, state.latest_us), *self._end_asymmetric(state, now_us)]
        return [*ended, *self._grey(state, now_us), *self._asymmetric(state, now_us)]

    def _grey(self, state: JoinState, now_us: int) -> Iterator[Finding]:
        clusters = {f.cluster for f in state.heard.values() if f.cause == RETRIES}
        for cluster in sorted(clusters):
            retrying = hosts_retrying(state.open_of(cluster, RETRIES), self.world)
            for told in state.derived("grey_loss", cluster):
                for host in list(retrying):
                    if told.subject.device in retrying[host]:
                        del retrying[host]
            told_by_ports = [f for word in sorted(TOLD_BY_PORTS) for f in state.open_of(cluster, word)]
            found = best_element(cluster, retrying, self.world, self.limits.hosts)
            if found is None or not is_quiet(cluster, found.device, told_by_ports, self.world):
                continue
            loss = self._grey_loss(state, found, retrying)
            if now_us >= loss.ts_us:
                yield state.tell(loss)

    def _end_grey(self, state: JoinState, ts_us: int) -> Iterator[Finding]:
        for told in state.derived("grey_loss"):
            device = told.subject.id
            retrying = hosts_retrying(state.open_of(told.cluster, RETRIES), self.world)
            left = [host for host, devices in retrying.items() if device in devices]
            loud = [f for word in sorted(TOLD_BY_PORTS) for f in state.open_of(told.cluster, word)]
            if not is_quiet(told.cluster, device, loud, self.world):
                yield state.end(told, ts_us, f"{device} counts losses or errors by itself now")
            elif len(left) < self.limits.hosts_left:
                yield state.end(told, ts_us, f"{len(left)} hosts below {device} still retry")

    def _grey_loss(self, state: JoinState, found: Element, retrying: dict[str, set[str]]) -> Finding:
        of_hosts = [f for f in state.open_of(found.cluster, RETRIES) if host_of(f) in found.hosts]
        starts = sorted(min(f.episode_us for f in of_hosts if host_of(f) == h) for h in found.hosts)
        others = candidates(found, retrying, self.world)
        return Finding(
            cluster=found.cluster,
            ts_us=max(starts[self.limits.hosts - 1] + self.limits.quiet_us, state.latest_us),
            detector=NAME,
            state="opened",
            subject=found.subject,
            episode_us=starts[self.limits.hosts - 1],
            severity="warning",
            cause="grey_loss",
            value=float(len(found.hosts)),
            limit=float(self.limits.hosts),
            unit="hosts",
            summary=(
                f"{len(found.hosts)} hosts retry over {found.device}, which counts no loss and no bad link: "
                f"{', '.join(sorted(found.hosts)[:8])}"
            ),
            evidence=[
                Evidence(what=f"{host_of(f)}: {f.summary}", value=f.value, unit=f.unit, ts_us=f.ts_us)
                for f in of_hosts[:16]
            ],
            candidates=others,
            confidence="medium" if len(others) < 2 or others[0].score > others[1].score else "low",
        )

    def _end_asymmetric(self, state: JoinState, now_us: int) -> Iterator[Finding]:
        for told in state.derived("asymmetric_link"):
            ends = self._ends(told)
            bad = [f for f in state.open_of(told.cluster, BAD) if f"{f.subject.device}/{f.subject.port}" in ends]
            here = [f for f in bad if f.subject.id == told.subject.id]
            if not here or len(bad) > len(here):
                yield state.end(told, now_us, "both ends report errors" if here else "no errors any more")

    def _asymmetric(self, state: JoinState, now_us: int) -> Iterator[Finding]:
        open_at = {subject_key(f) for f in state.derived("asymmetric_link")}
        for cause in [f for f in state.heard.values() if f.cause == BAD and f.state != "cleared"]:
            due_us = cause.episode_us + self.limits.clean_us
            if subject_key(cause) in open_at or now_us < due_us:
                continue
            others = self._ends(cause) - {cause.subject.id}
            loud = {
                f"{f.subject.device}/{f.subject.port}"
                for word in sorted(TOLD_BY_PORTS)
                for f in state.open_of(cause.cluster, word)
            }
            well = sorted(end for end in others if self.world.is_up(cause.cluster, end))
            if well and not others & loud:
                yield state.tell(_one_sided(cause, well[0], max(due_us, cause.ts_us)))

    def _ends(self, finding: Finding) -> set[str]:
        s = finding.subject
        if s.device is None or s.port is None:
            return {s.id}
        return self.world.cables.ends(finding.cluster, s.device, s.port)


def _one_sided(cause: Finding, well: str, ts_us: int) -> Finding:
    return structs.replace(
        cause,
        ts_us=ts_us,
        detector=NAME,
        state="opened",
        episode_us=cause.episode_us,
        severity="warning",
        cause="asymmetric_link",
        summary=f"errors at {cause.subject.id} only: {well}, the other end, is clean and up",
        evidence=[
            Evidence(what=f"because of {finding_key(cause)}", ts_us=cause.ts_us),
            Evidence(what=f"{well} reports no errors and is up", ts_us=ts_us),
        ],
        action="change the module at the end with the errors, then the cable, then the transmitter at the other end",
        candidates=[],
    )
