"""The import itself: round by round, window by window; what cannot be answered is asked for in smaller pieces.

Samples are asked for as they were scraped, with their own times (a range selector). With `--step` they are asked for
at that distance (`query_range`): then the server repeats the last one where a scrape is missing.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from collectors.prometheus.answer import Line
from collectors.prometheus.api import Api, Busy, TooMuch
from collectors.prometheus.history import History
from collectors.prometheus.plan import LABEL_BYTES, POINT_BYTES, Plan, Progress, fitting
from collectors.prometheus.selector import one_of, select
from collectors.remote_write.target import Out
from collectors.source import SourceError

TRIES = 8
"""Of one window, one after the other with longer waits: some four minutes."""
LONGEST_WAIT_S = 60.0
LOOKBACK_STEPS = 2
"""A sample stands for so many steps: one scrape that failed is bridged, as in a graph, two are a gap."""


@dataclass(slots=True)
class Tally:
    """What an import has done."""

    messages: int = 0
    samples: int = 0
    queries: int = 0
    tries: int = 0
    last: str = ""
    """Why the last of them failed."""
    doubts: dict[str, int] = field(default_factory=dict)
    """Why answers may lack something -> how many did."""


@dataclass(frozen=True, slots=True)
class Importer:
    """`deliver` returns whether all arrived; `stage` keeps the progress; `tell` shows it; `sleep` waits."""

    api: Api
    history: History
    deliver: Callable[[Out], Awaitable[bool]]
    stage: Callable[[Progress], None]
    tell: Callable[[Progress, Tally], None]
    complain: Callable[[str], None]
    partial: bool = False
    """Take answers that lack something."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    tally: Tally = field(default_factory=Tally)

    async def run(self, progress: Progress) -> Progress:
        """To the end. Raises `SourceError` where the server does not answer any more; the progress is kept."""
        plan = progress.plan
        while not progress.over:
            if progress.at >= plan.end:
                progress = Progress(plan, progress.round + 1, plan.first, progress.points)
            else:
                progress = await self._window(progress)
            self.stage(progress)
            self.tell(progress, self.tally)
        return progress

    async def _window(self, progress: Progress) -> Progress:
        plan, points = progress.plan, progress.points
        for number in range(TRIES):
            until = min(plan.end, progress.at + points)
            try:
                out, got_bytes = await self._ask(progress, until)
            except (Busy, TooMuch) as why:
                if isinstance(why, Busy) or points == 1:
                    await self._wait(why, number)
                points = max(1, points // 2)
                continue
            if not await self.deliver(out):
                self.complain("Kafka has not taken it; trying again")
                await self._wait(Busy("Kafka"), number)
                continue
            return Progress(plan, progress.round, until, fitting(until - progress.at, got_bytes))
        last = self.tally.last or "too much at once"
        raise SourceError(
            f"--url {plan.asked.url}: {last}; given up after {TRIES} tries, the same command goes on from here"
        )

    async def _ask(self, progress: Progress, until: int) -> tuple[Out, int]:
        plan = progress.plan
        hosts = one_of(plan.host_label, plan.group(progress.round))
        selectors = select(one_of("__name__", plan.names), hosts, match=plan.asked.match)
        from_s, to_s = progress.at * plan.step_s, until * plan.step_s
        lines: list[Line] = []
        for selector in selectors:
            lines += await self._lines(plan, selector, from_s, to_s)
        before = self.history.samples
        # Whether a range has its first moment in it depends on the version of the server.
        out = self.history.messages(lines, round(from_s * 1000), round(to_s * 1000))
        samples = self.history.samples - before
        self.tally.samples += samples
        self.tally.messages += len(out)
        return out, len(lines) * LABEL_BYTES + samples * POINT_BYTES

    async def _lines(self, plan: Plan, selector: str, from_s: float, to_s: float) -> list[Line]:
        """Each `--match` is a query of its own: PromQL's `or` takes series of two metrics for the same."""
        self.tally.queries += 1
        if plan.asked.step:
            answer = await self.api.query_range(_resampled(plan, selector, from_s, to_s))
        else:
            span = f"[{round((to_s - from_s) * 1000)}ms]"
            answer = await self.api.query({"query": selector + span, "time": _time(to_s - 0.001)})
        if answer.doubts and not self.partial:
            raise Busy(f"the answer lacks something: {answer.doubts[0]}; --partial takes it as it is")
        for doubt in answer.doubts:
            if doubt not in self.tally.doubts:
                self.complain(f"the answer lacks something: {doubt}")
            self.tally.doubts[doubt] = self.tally.doubts.get(doubt, 0) + 1
        return answer.data.result

    async def _wait(self, why: Exception, number: int) -> None:
        self.tally.tries += 1
        self.tally.last = str(why)
        asked = why.after_s if isinstance(why, Busy) else None
        wait_s = min(LONGEST_WAIT_S, 2.0**number if asked is None else asked)
        self.complain(f"{why}; again in {wait_s:g} s")
        await self.sleep(wait_s)


def _resampled(plan: Plan, query: str, from_s: float, to_s: float) -> dict[str, str]:
    """A value at each step: the last one before it, if that is not too old. Prometheus looks back five minutes
    (`query.lookback-delta`), whatever it is asked for."""
    lookback = f"{LOOKBACK_STEPS * plan.step_s:g}s"
    return {
        "query": query,
        "start": _time(from_s),
        "end": _time(to_s - plan.step_s),
        "step": f"{plan.step_s:g}",
        "lookback_delta": lookback,
        "max_lookback": lookback,
    }


def _time(seconds: float) -> str:
    return f"{seconds:.3f}"
