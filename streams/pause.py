"""Which way a pause storm goes, as its finding tells it, and which storm brought about which.

A port that *receives* pause is held up by what stands behind its cable; a port that *sends* it holds up its far end.
A device that is held up sends pause in turn. Following that from port to port ends at the port whose far end
receives none from anyone further (Guo et al., SIGCOMM 2016, traced storms to their origin that way): the root.
"""

from streams.cables import Cables
from streams.contract import Finding

STORM = "pause_storm"
PRESSURE = "pause_pressure"
LOSS = "lossless_drop"
RECEIVES = "receives pause"
SENDS = "sends pause"
"""How the evidence of a storm begins."""


def receives(finding: Finding) -> bool:
    """Is its port told to be quiet? A storm that does not tell its direction counts as such."""
    return _says(finding, RECEIVES) or not _says(finding, SENDS)


def held_up(finding: Finding, cables: Cables) -> set[str]:
    """The devices that a storm keeps from sending; empty for anything else."""
    if finding.cause != STORM or finding.subject.device is None:
        return set()
    return {finding.subject.device} if receives(finding) else far_devices(finding, cables)


def blamed(finding: Finding, cables: Cables) -> set[str]:
    """The devices that send the pause of a storm."""
    if finding.subject.device is None:
        return set()
    return far_devices(finding, cables) if receives(finding) else {finding.subject.device}


def explains(cause: Finding, effect: Finding, cables: Cables) -> bool:
    """May a storm have brought about another storm, or loss or pressure on its way?"""
    if cause.cause != STORM or cause.cluster != effect.cluster or not _same_class(cause, effect):
        return False
    held = held_up(cause, cables)
    if effect.cause == STORM:
        return not held.isdisjoint(blamed(effect, cables))
    if effect.cause in (LOSS, PRESSURE) and effect.subject.device is not None:
        return not held.isdisjoint({effect.subject.device} | far_devices(effect, cables))
    return False


def far_devices(finding: Finding, cables: Cables) -> set[str]:
    """What is at the other end of a port's cable."""
    s = finding.subject
    if s.device is None or s.port is None:
        return set()
    return {end.partition("/")[0] for end in cables.ends(finding.cluster, s.device, s.port)} - {s.device}


def _says(finding: Finding, words: str) -> bool:
    return any(row.what.startswith(words) for row in finding.evidence)


def _same_class(a: Finding, b: Finding) -> bool:
    mine, other = a.subject.priority, b.subject.priority
    return mine is None or other is None or mine == other
