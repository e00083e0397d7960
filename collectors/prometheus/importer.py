"""The import itself: round by round, window by window; what cannot be answered is asked for in smaller pieces."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from collectors.prometheus.api import Api, Busy, TooMuch
from collectors.prometheus.history import History
from collectors.prometheus.plan import LABEL_BYTES, POINT_BYTES, Progress, fitting
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
        raise SourceError(f"--url {plan.asked.url}: given up after {TRIES} tries; the same command goes on from here")

    async def _ask(self, progress: Progress, until: int) -> tuple[Out, int]:
        plan = progress.plan
        hosts = one_of(plan.host_label, plan.group(progress.round))
        step = f"{plan.step_s:g}"
        params = {
            "query": select(one_of("__name__", plan.names), hosts, match=plan.asked.match),
            "start": _time(progress.at * plan.step_s),
            "end": _time((until - 1) * plan.step_s),
            "step": step,
            "lookback_delta": f"{LOOKBACK_STEPS * plan.step_s:g}s",
            "max_lookback": f"{LOOKBACK_STEPS * plan.step_s:g}s",
        }
        self.tally.queries += 1
        answer = await self.api.query_range(params)
        if answer.doubts and not self.partial:
            raise Busy(f"the answer lacks something: {answer.doubts[0]}; --partial takes it as it is")
        for doubt in answer.doubts:
            if doubt not in self.tally.doubts:
                self.complain(f"the answer lacks something: {doubt}")
            self.tally.doubts[doubt] = self.tally.doubts.get(doubt, 0) + 1
        before = self.history.samples
        out = self.history.messages(answer.data.result)
        samples = self.history.samples - before
        self.tally.samples += samples
        self.tally.messages += len(out)
        return out, len(answer.data.result) * LABEL_BYTES + samples * POINT_BYTES

    async def _wait(self, why: Exception, number: int) -> None:
        self.tally.tries += 1
        asked = why.after_s if isinstance(why, Busy) else None
        wait_s = min(LONGEST_WAIT_S, 2.0**number if asked is None else asked)
        self.complain(f"{why}; again in {wait_s:g} s")
        await self.sleep(wait_s)


def _time(seconds: float) -> str:
    return f"{seconds:.3f}"
