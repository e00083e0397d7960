"""The fixed order of questions for a slow job. Each is a pure function of what is known, so that none is left out."""

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median

from collectors.contract.gpu import GpuScrape
from infra.diagnose.judged import Judged
from infra.diagnose.report import Answer
from infra.diagnose.series import PARTS, Step, Stretch, beside_peers, typical
from infra.diagnose.setting import setting_changes
from infra.diagnose.words import moment

SLOW = 1.07
"""Own compute over the peers' from which a rank is looked at: between the straggler detector's 1.10 and 1.05."""
AROUND_US = 180_000_000
"""What happened so close to the beginning may have to do with it."""


def against_its_past(steps: Sequence[Step], slow: Stretch | None, day_before: tuple[float, int] | None) -> Answer:
    """Is it slow against its past?"""
    question = "Is it slow against its own past?"
    if not steps:
        return Answer(question=question, reply="not known", words="no training steps were reported in this time")
    if slow is None:
        time_s = median(step.time_s for step in steps)
        if day_before is not None and time_s >= 1.10 * day_before[0]:
            before = f"{day_before[0]:.3g} s over {day_before[1]} steps of the day before"
            words = f"{time_s:.3g} s a step from the beginning; {before}"
            return Answer(question=question, reply="yes", words=words, numbers={"step_s": round(time_s, 4)})
        few = len(steps) < 10
        words = f"{len(steps)} steps of {time_s:.3g} s" + (", too few to say" if few else " without a lasting change")
        return Answer(
            question=question, reply="not known" if few else "no", words=words, numbers={"step_s": round(time_s, 4)}
        )
    was, now = (median(step.time_s for step in part) for part in (slow.base, slow.window))
    since = slow.since
    end = "still" if slow.now else f"until step {slow.window[-1].number}"
    return Answer(
        question=question,
        reply="yes",
        words=(
            f"{now:.3g} s a step against {was:.3g} s before, {slow.factor:.2f} times, since step {since.number} "
            f"({moment(since.ts_us)}), {end}"
        ),
        numbers={"step_s": round(now, 4), "step_s_before": round(was, 4), "factor": round(slow.factor, 3)},
    )


def one_or_all(judged: Judged, window: Sequence[Step], slow: Stretch | None) -> tuple[Answer, list[int]]:
    """One rank or all? Also the ranks that are slow beside their peers, slowest first."""
    question = "One rank or all?"
    ratios = beside_peers(window, judged.placement)
    if not ratios:
        words = "no rank reports compute of its own, so ranks cannot be compared"
        return Answer(question=question, reply="not known", words=words), []
    suspects = sorted((r for r, x in ratios.items() if x >= SLOW), key=lambda r: -ratios[r])
    rows = [f"rank {r}: {ratios[r]:.2f} times its peers, {_where(judged, r)}" for r in suspects[:8]]
    if not suspects:
        alike = f"all {len(ratios)} ranks are within {SLOW:.2f} of their peers"
        own = typical(slow.base, "compute_s") if slow else None
        now = typical(window, "compute_s")
        more = f"; own compute {now:.3g} s, {own:.3g} s before" if own and now else ""
        return Answer(question=question, reply="all alike", words=alike + more), []
    nodes = Counter(judged.placement[r].node for r in suspects if r in judged.placement)
    on = ", ".join(f"{n} on {node}" for node, n in nodes.most_common(3))
    return (
        Answer(
            question=question,
            reply="one" if len(suspects) == 1 else "some",
            words=f"{len(suspects)} of {len(ratios)} ranks compute longer than their peers" + (f": {on}" if on else ""),
            numbers={"worst": round(ratios[suspects[0]], 3), "suspects": len(suspects)},
            details=rows,
        ),
        suspects,
    )


def spent_on(window: Sequence[Step], base: Sequence[Step], suspects: Sequence[int]) -> tuple[Answer, str | None]:
    """Compute, wait, data or checkpoint? Also the part that grew most on the ranks in question."""
    question = "Compute, wait, transfer, data or checkpoint?"
    ranks = {rank for step in window for part in step.parts.values() for rank in part}
    of = set(suspects) or ranks
    grown: dict[str, float] = {}
    rows: list[str] = []
    numbers: dict[str, float | str | None] = {}
    for part in PARTS:
        now, was = typical(window, part, of), typical(base, part, of)
        others = typical(window, part, ranks - of) if suspects else None
        if now is None:
            continue
        against = was if was is not None else others
        numbers[part] = round(now, 4)
        said = f"{part.removesuffix('_s')} {now:.3g} s"
        said += f", {was:.3g} s before" if was is not None else ""
        said += f", {others:.3g} s on the other ranks" if others is not None else ""
        rows.append(said)
        if against is not None:
            grown[part] = now - against
    if not grown:
        reply = "not known" if not rows else "as ever"
        return Answer(question=question, reply=reply, words="no parts of the steps to compare", details=rows), None
    top = max(grown, key=lambda part: grown[part])
    step_s = median(step.time_s for step in window)
    if grown[top] < 0.03 * step_s:
        words = "no part of the step grew by more than 3 % of it"
        return Answer(question=question, reply="as ever", words=words, numbers=numbers, details=rows), None
    who = f"rank {suspects[0]}" if len(suspects) == 1 else "these ranks" if suspects else "all ranks"
    words = f"{top.removesuffix('_s')} grew most on {who}: {grown[top]:+.3g} s of a step of {step_s:.3g} s"
    return Answer(question=question, reply=top.removesuffix("_s"), words=words, numbers=numbers, details=rows), top


def what_changed(judged: Judged, since_us: int | None) -> Answer:
    """What changed around its beginning?"""
    question = "What changed?"
    if since_us is None:
        return Answer(question=question, reply="not known", words="there is no beginning to look around")
    low, high = since_us - AROUND_US, since_us + AROUND_US // 3
    rows = []
    for event in judged.events:
        if low <= event.ts_us <= high and event.kind != "heartbeat":
            rows.append(
                (event.ts_us, f"{event.kind}, attempt {event.attempt}" + (f": {event.reason}" if event.reason else ""))
            )
    for incident in judged.incidents.values():
        if low <= incident.opened_us <= high:
            rows.append(
                (incident.opened_us, f"incident {incident.id} opened: {incident.cause_word}, {incident.subject.id}")
            )
    for state in judged.states:
        if low <= state.ts_us <= high and state.states:
            rows.append(
                (
                    state.ts_us,
                    f"{state.node} is {' '.join(state.states)}" + (f": {state.reason}" if state.reason else ""),
                )
            )
    for node, scrapes in judged.scrapes.items():
        rows += [(ts, f"{node}: driver {old} -> {new}") for ts, old, new in _drivers(scrapes) if low <= ts <= high]
    rows += [(ts, words) for ts, words in setting_changes(judged.reports) if low <= ts <= high]
    rows = sorted(set(rows))
    words = (
        f"{len(rows)} things within {AROUND_US // 60_000_000} min of {moment(since_us)}"
        if rows
        else "nothing that is known"
    )
    return Answer(
        question=question,
        reply="yes" if rows else "nothing known",
        words=words,
        details=[f"{moment(ts)}  {text}" for ts, text in rows[:12]],
    )


def _drivers(scrapes: Iterable[GpuScrape]) -> list[tuple[int, str, str]]:
    out = list[tuple[int, str, str]]()
    last: str | None = None
    for scrape in scrapes:
        driver = scrape.labels.get("driver_version")
        if driver is not None and last is not None and driver != last:
            out.append((scrape.ts_us, last, driver))
        last = driver or last
    return out


def _where(judged: Judged, rank: int) -> str:
    place = judged.placement.get(rank)
    if place is None:
        return "place not known"
    return f"{place.node}" + (f" {place.gpu_uuid}" if place.gpu_uuid else "")
