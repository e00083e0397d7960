"""Looks at what a server has, before anything is asked for in bulk."""

from collectors.dcgm.labels import HOST
from collectors.prometheus.answer import Answer
from collectors.prometheus.api import Api
from collectors.prometheus.plan import Asked, Plan, together
from collectors.prometheus.selector import one_of, select
from collectors.prometheus.times import grid, native_step
from collectors.remote_write.series import kind_of
from collectors.source import SourceError

LABELS = (*HOST, "instance")
"""What tells nodes apart, the surest first: a node's exporter changes its address when its pod is made anew."""
LOOK_S = 3600.0


async def survey(api: Api, asked: Asked, from_s: float, to_s: float, step_s: float | None) -> Plan:
    """Raises `SourceError` where there is nothing to import, and what `Api` raises."""
    span = {"start": f"{from_s:.3f}", "end": f"{to_s:.3f}"}
    names = sorted(name for name in await api.values("__name__", span) if kind_of(name) is not None)
    if not names:
        raise SourceError(f"--url {asked.url}: no metric of dcgm-exporter or Megatron there between --from and --to")
    label, hosts = await _hosts(api, asked, names, span)
    seen = await _seen(api, asked, names, from_s, to_s)
    if step_s is None:
        step_s = await _step(api, asked, names, seen)
    first, end = grid(from_s, to_s, step_s)
    if first >= end:
        raise SourceError(f"--from {asked.from_} --to {asked.to}: less than one step of {step_s:g} s")
    series = int(float(seen[1].data.result[0].value[1])) if seen[1].data.result[0].value else 1
    return Plan(
        asked=asked,
        names=tuple(names),
        host_label=label,
        hosts=tuple(hosts),
        step_s=step_s,
        first=first,
        end=end,
        together=together(series, len(hosts)),
    )


async def _hosts(api: Api, asked: Asked, names: list[str], span: dict[str, str]) -> tuple[str, list[str]]:
    """The label that tells nodes apart and its values; empty text last, for series that lack it."""
    for label in LABELS:
        found = await api.values(label, {**span, "match[]": select(one_of("__name__", names))})
        if found:
            return label, [*sorted(found), ""]
    return "instance", [""]


async def _seen(api: Api, asked: Asked, names: list[str], from_s: float, to_s: float) -> tuple[float, Answer]:
    """A moment at which there is something, with the number of series then. Raises `SourceError`."""
    selector = select(one_of("__name__", names), match=asked.match)
    moments = [to_s - (to_s - from_s) * part / 24 for part in range(25)]
    for at_s in moments:
        answer = await api.query({"query": f"count({selector})", "time": f"{at_s:.3f}"})
        if answer.data.result:
            return at_s, answer
    shown = f" that match {' or '.join(asked.match)}" if asked.match else ""
    raise SourceError(f"--url {asked.url}: no samples{shown} between --from and --to")


async def _step(api: Api, asked: Asked, names: list[str], seen: tuple[float, Answer]) -> float:
    """How far apart the samples of one series are. Raises `SourceError`."""
    time = {"time": f"{seen[0]:.3f}"}
    selector = select(one_of("__name__", names), match=asked.match)
    one = await api.query({"query": f"topk(1, {selector})", **time})
    for line in one.data.result:
        exact = select(*(one_of(label, [value]) for label, value in sorted(line.metric.items())))
        raw = await api.query({"query": f"{exact}[{int(LOOK_S)}s]", **time})
        for found in raw.data.result:
            step_s = native_step([at for at, _ in found.values])
            if step_s is not None:
                return step_s
    raise SourceError(f"--url {asked.url}: cannot tell how often its targets are scraped; give --step SECONDS")
