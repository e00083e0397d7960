"""The action and the runbook of each cause word. A finding's own action, if it has one, goes before these."""

FLEET_SILENCE = "fleet_silence"

RUNBOOKS = "docs/runbooks"

_ACTIONS = {
    FLEET_SILENCE: "look for what these parts share (power, network, the collectors' host) before any single part",
    "collector_silent": "see whether the collector's process and host are there, read its log, start it again",
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
    family = word.partition("_")[0]
    name = next((n for n in (word, family, detector) if n in OWN_PAGE), "general")
    return f"{RUNBOOKS}/{name}.md"


OWN_PAGE = frozenset(
    {
        "clock_lock",
        "collector_silent",
        "correctable_ecc_growth",
        "correctable_ecc_storm",
        "device_silent",
        "fleet_silence",
        "general",
        "gpu_lost",
        "host_slow",
        "hw_slowdown",
        "job_hang_suspected",
        "job_regression",
        "job_silent",
        "lossless_drop",
        "memory",
        "node_silent",
        "page_retirement_limit",
        "power_brake",
        "power_cap",
        "rank_silent",
        "row_remap_exhausted",
        "row_remap_failure",
        "row_remap_pending",
        "silence",
        "slow_rank",
        "straggler",
        "sxid",
        "thermal_throttle",
        "throttle",
        "uncorrectable_ecc",
        "unexplained_slow_clock",
        "xid",
        "xid_79",
    }
)
"""The files of `docs/runbooks/`."""
