"""Looks at what a server has, before anything is asked for in bulk."""

from collectors.dcgm.labels import HOST
from collectors.prometheus.api import Api
from collectors.prometheus.plan import Asked, Plan, together
from collectors.prometheus.selector import one_of, select
from collectors.prometheus.times import grid, native_step
from collectors.remote_write.series import kind_of
from collectors.source import SourceError

LABELS = (*HOST, "instance")
"""What tells nodes apart, the surest first: a node's exporter changes its address when its pod is made anew."""
LOOK_S = 3600
LOOKS = 24
"""So many moments are tried until there is one with samples."""
USUAL_STEP_S = 15.0
"""Only the size of windows depends on it."""


async def survey(api: Api, asked: Asked, from_s: float, to_s: float, step_s: float | None) -> Plan:
    """Raises `SourceError` where there is nothing to import, and what `Api` raises."""
    span = {"start": f"{from_s:.3f}", "end": f"{to_s:.3f}"}
    names = sorted(name for name in await api.values("__name__", span) if kind_of(name) is not None)
    if not names:
        raise SourceError(f"--url {asked.url}: no metric of dcgm-exporter or Megatron there between --from and --to")
    label, hosts = await _hosts(api, asked, names, span)
    at_s, series = await _seen(api, asked, names, from_s, to_s)
    if step_s is None:
        step_s = await _step(api, asked, names, at_s) or USUAL_STEP_S
    first, end = grid(from_s, to_s, step_s)
    if first >= end:
        raise SourceError(f"--from {asked.from_} --to {asked.to}: less than one scrape every {step_s:g} s")
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
        found = await api.values(label, {**span, "match[]": select(one_of("__name__", names))[0]})
        if found:
            return label, [*sorted(found), ""]
    return "instance", [""]


async def _seen(api: Api, asked: Asked, names: list[str], from_s: float, to_s: float) -> tuple[float, int]:
    """A moment at which there is something, and the number of series then. Raises `SourceError`."""
    for part in range(LOOKS + 1):
        at_s = to_s - (to_s - from_s) * part / LOOKS
        series = 0
        for selector in select(one_of("__name__", names), match=asked.match):
            answer = await api.query({"query": f"count({selector})", "time": f"{at_s:.3f}"})
            series += sum(int(float(line.value[1])) for line in answer.data.result if line.value is not None)
        if series:
            return at_s, series
    shown = f" that match {' or '.join(asked.match)}" if asked.match else ""
    raise SourceError(f"--url {asked.url}: no samples{shown} between --from and --to")


async def _step(api: Api, asked: Asked, names: list[str], at_s: float) -> float | None:
    """How far apart the samples of one series are; None: it has too few of them."""
    time = {"time": f"{at_s:.3f}"}
    for selector in select(one_of("__name__", names), match=asked.match):
        one = await api.query({"query": f"topk(1, {selector})", **time})
        for line in one.data.result:
            (exact,) = select(*(one_of(label, [value]) for label, value in sorted(line.metric.items())))
            raw = await api.query({"query": f"{exact}[{LOOK_S}s]", **time})
            for found in raw.data.result:
                return native_step([at for at, _ in found.values])
    return None
