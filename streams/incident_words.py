"""The action and the runbook of each cause word. A finding's own action, if it has one, goes before these."""

FLEET_SILENCE = "fleet_silence"

RUNBOOKS = "docs/runbooks"

_ACTIONS = {
    FLEET_SILENCE: "look for what these parts share (power, network, the collectors' host) before any single part",
    "thermal_throttle": "move the job off the GPU; check fans, air flow, coolant and the room",
    "power_brake": "check the rack's power feeds and supplies; the board was told to slow down",
    "lossless_drop": "look at the port's pause and buffer settings and at both ends of the cable",
    "ecc_growth": "plan a reset or swap of this GPU at the next gap; no need to stop the job",
}
_BY_DETECTOR = {
    "xid": "drain the node and follow the XID's recommended action",
    "memory": "drain the GPU and reset it; replace it if the remap failure flag stays",
    "throttle": "find what slows the GPU: heat, power or a cap that somebody set",
    "lossless_drop": "look at both ends of the cable; move the job if it does not stop",
    "straggler": "compare this rank's GPU and host with its peers; move the rank if it stays slow",
    "silence": "see whether the part or only its collector is gone: ping, power, the collector's log",
}


def action_for(word: str, detector: str) -> str:
    """What the person on call does first."""
    return _ACTIONS.get(word) or _BY_DETECTOR.get(detector, "look at the evidence and the part")


def runbook_for(word: str, detector: str) -> str:
    """The page for a cause, relative to the repository. XIDs without a page of their own share `xid.md`."""
    name = word if word in OWN_PAGE else detector if detector in OWN_PAGE else "general"
    return f"{RUNBOOKS}/{name}.md"


OWN_PAGE = frozenset(
    {FLEET_SILENCE, "xid", "xid_79", "memory", "throttle", "straggler", "lossless_drop", "silence", "general"}
)
