"""SubscribeRequests of a preset: one for each database or target that it names."""

from dataclasses import dataclass

from collectors.gnmi import wire
from collectors.gnmi.path import GnmiPath, parse_path, write_path
from collectors.gnmi.presets import Mode, Preset, Wanted

LIST_MODES: dict[Mode, int] = {"STREAM": 0, "ONCE": 1, "POLL": 2}
MODES = {"TARGET_DEFINED": 0, "ON_CHANGE": 1, "SAMPLE": 2}
ENCODINGS = {"JSON": 0, "BYTES": 1, "PROTO": 2, "ASCII": 3, "JSON_IETF": 4}
POLL = wire.SubscribeRequest(poll=b"").SerializeToString()
"""Asks for the next round of a POLL subscription."""


@dataclass(frozen=True, slots=True)
class Request:
    """One Subscribe call. `side`: it stands beside that of the counters, and may fail alone."""

    target: str
    raw: bytes
    side: bool = False


def requests(preset: Preset, interval_s: float, mode: Mode) -> list[Request]:
    """The call for the counters first, then those beside it (SONiC answers one database a call)."""
    calls: dict[tuple[str, bool], list[Wanted]] = {(preset.target, False): []}
    for wanted in preset.subscribe:
        calls.setdefault(preset.call_of(wanted), []).append(wanted)
    return [
        Request(target, _request(preset, target, subscribe, interval_s, mode), side=side)
        for (target, side), subscribe in calls.items()
    ]


def _request(preset: Preset, target: str, subscribe: list[Wanted], interval_s: float, mode: Mode) -> bytes:
    request = wire.SubscribeRequest()
    listed = request.subscribe
    listed.mode = LIST_MODES[mode]
    listed.encoding = ENCODINGS[preset.encoding]
    if target:
        listed.prefix = write_path(GnmiPath(target=target))
    for wanted in subscribe:
        path = parse_path(wanted.path)
        added = listed.subscription.add(path=write_path(GnmiPath(path.elems, path.origin or preset.origin)))
        if mode != "STREAM":
            continue
        added.mode = MODES[wanted.mode]
        if wanted.mode == "SAMPLE":
            added.sample_interval = round((wanted.interval_s or interval_s) * 1e9)
            added.suppress_redundant = wanted.suppress
        if wanted.heartbeat_s is not None:
            added.heartbeat_interval = round(wanted.heartbeat_s * 1e9)
    return bytes(request.SerializeToString())
