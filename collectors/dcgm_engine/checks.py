"""What an engine shows, what it lacks, and what to switch on."""

import socket
import time
from collections.abc import Callable, Iterator

from collectors.dcgm_engine.bindings import Bindings
from collectors.dcgm_engine.reader import ADVICE as CODES
from collectors.dcgm_engine.samples import Entity, Sample, blank_of, hold
from collectors.dcgm_engine.session import Session, Where, open_session
from collectors.dcgm_engine.watched import watches
from collectors.gpu.looking import seen_within
from collectors.source import Sight

LIMIT_S = 9.0
PORT = 5555
NEEDED = {
    100: "SM clock",
    112: "throttle reasons",
    150: "GPU temperature",
    155: "power",
    156: "energy",
    310: "corrected ECC errors",
    311: "uncorrected ECC errors",
}
"""Without these a detector is blind."""
WATCH_ADVICE = {
    "prof": "needs the profiling module, root, and no other engine or profiler that holds the counters",
    "xid": "run the source `kernel` on this node",
}


def engine_runs(port: int = PORT) -> bool:
    """Does something listen where nv-hostengine does?"""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False


def sights(
    dcgm: Bindings,
    where: Where,
    library: str | None,
    node: str,
    fast_s: float,
    slow_s: float,
    limit_s: float = LIMIT_S,
    runs: Callable[[], bool] = engine_runs,
) -> list[Sight]:
    """Ends by itself: an engine that hangs is a sight."""
    why = f"the rest: no answer within {limit_s:.0f} s"
    advice = "a GPU may hang the engine: see `dmesg` and `dcgmi health -c`"
    return seen_within(
        limit_s,
        lambda: _look(dcgm, where, library, node, fast_s, slow_s, runs),
        lambda: Sight(where.words, False, "no more", why, advice),
    )


def _look(
    dcgm: Bindings,
    where: Where,
    library: str | None,
    node: str,
    fast_s: float,
    slow_s: float,
    runs: Callable[[], bool],
) -> Iterator[Sight]:
    target = where.words
    if where == Where() and runs():
        yield Sight(
            target,
            False,
            f"an engine that listens on port {PORT} already",
            "the counters behind 1001 to 1016: two engines compete for them",
            f"give --address localhost:{PORT}",
        )
    try:
        session = open_session(dcgm, where, library, node, watches(fast_s, slow_s), time.time_ns() // 1000)
    except (dcgm.structs.DCGMError, OSError) as why:
        yield Sight(
            target, False, "nothing", str(why), CODES.get(int(getattr(why, "value", 0)), "see `dcgmi discovery -l`")
        )
        return
    try:
        yield from _look_at(session, target)
    except dcgm.structs.DCGMError as why:
        yield Sight(target, False, "an engine", f"its answers: {why}", "restart nv-hostengine")
    finally:
        session.close()


def _look_at(session: Session, target: str) -> Iterator[Sight]:
    sick = session.sick()
    latest: dict[tuple[Entity, int], Sample] = {}
    for name in session.names(event=False):
        samples = session.since(name)
        hold(latest, samples, frozenset(sample.field for sample in samples))
    for name, why in session.lacks.items():
        yield Sight(
            target, False, "the other fields", f"the {name} fields: {why}", WATCH_ADVICE.get(name, "update DCGM")
        )
    for entity, gpu in session.gpus.items():
        shown = f"GPU {gpu.index}" if gpu.mig is None else f"GPU {gpu.index} {gpu.mig}"
        if entity in sick:
            yield Sight(
                shown, False, gpu.uuid, f"the GPU: {sick[entity][0]}", "drain the node; reset the GPU or reboot"
            )
            continue
        mine = {field: sample for (whose, field), sample in latest.items() if whose == entity}
        read = {field for field, sample in mine.items() if sample.status == 0 and blank_of(sample) is None}
        lacks = (
            [f"{words} ({field})" for field, words in NEEDED.items() if field not in read] if gpu.mig is None else []
        )
        yield Sight(
            shown,
            not lacks,
            f"driver {session.driver}, {gpu.model} {gpu.uuid}: {len(read)} fields, {len(mine) - len(read)} blank",
            ", ".join(lacks),
            "switch ECC on (nvidia-smi -e 1), update the driver, or see `dcgmi dmon -e` for these fields"
            if lacks
            else "",
        )
        persistence = mine.get(66)
        if persistence is not None and persistence.value == 0:
            yield Sight(
                shown,
                False,
                "persistence mode off",
                "counters that survive an idle hour: they start again when the last program ends",
                "nvidia-smi -pm 1, or run nvidia-persistenced",
            )
