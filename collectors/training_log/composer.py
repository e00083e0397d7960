"""Composer and llm-foundry.

Form: composer/loggers/console_logger.py: a head such as `[batch=12/300]:` and below it, a line each,
` Train NAME: VALUE` with the names of its speed monitor. Its rates have four decimals: too few of `batches_per_sec` for
a slow step, so the step's time is had from tokens, which are many.
"""

import re
from collections.abc import Iterator

from collectors.training_log.cells import number, positive, whole
from collectors.training_log.fact import Began, Ended, Evaluated, Fact, Stepped, Told
from collectors.training_log.line import Line

_HEAD = re.compile(r"^\s*(?:\[epoch=\d+(?:/\d+)?\])?\[(\w+)=(\d{1,15})(?:/\d+)?\](?::| Eval on .*)?\s*$")
_EVAL = re.compile(r"^\s*\[Eval batch=(\d+)/(\d+)\] Eval on ")
_CELL = re.compile(r"^\s+(Train|Eval) ([\w/().+-]{1,200}): (\S{1,100})\s*$")
CELLS = 2000
"""A block's names; more are not read."""
LEAST_RATE = 0.1
"""Batches a second: below it four decimals are less than three digits."""


class Composer:
    """A block ends where the next line is none of it."""

    def __init__(self, told: Told) -> None:
        self._told = told
        self._batch: int | None = None
        self._cells: dict[str, str] = {}
        self._tokens: tuple[int, int] | None = None
        """The last step whose tokens were told, and all tokens until then."""

    def read(self, line: Line) -> Iterator[Fact]:
        """As in `Form`."""
        text = line.text
        if found := _CELL.match(text):
            if found[1] == "Train" and len(self._cells) < CELLS:
                self._cells[found[2]] = found[3]
            return
        yield from self.rest()
        if _EVAL.match(text):
            yield Evaluated()
        elif found := _HEAD.match(text):
            self._batch = int(found[2]) if found[1] == "batch" and "[epoch=" not in text else None
        elif "Building trainer" in text or "Loading checkpoint" in text:
            yield Began()
        elif text.rstrip().endswith("Done.") and ("train" in text or text.strip() == "Done."):
            yield Ended()

    def rest(self) -> Iterator[Fact]:
        """As in `Form`: the block that came last."""
        cells, batch = self._cells, self._batch
        self._cells, self._batch = {}, None
        if "time/batch" not in cells and batch is None:
            return
        done = whole(cells.get("time/batch"))
        if batch is None and done is None:
            return
        step = batch if batch is not None or done is None else done + 1
        if step is not None and cells:
            yield self._step(step, cells)

    def _step(self, step: int, cells: dict[str, str]) -> Stepped:
        per_s, device_per_s = positive(cells.get("throughput/tokens_per_sec")), None
        device_per_s = positive(cells.get("throughput/device/tokens_per_sec"))
        if per_s is not None and device_per_s is not None:
            world = round(per_s / device_per_s)
            if world > 0 and abs(per_s / device_per_s / world - 1) < 0.001:
                self._told.world_size = self._told.dp = world
        batch_tokens = self._batch_tokens(step, whole(cells.get("time/token")))
        step_s = None
        if batch_tokens is not None and per_s is not None:
            step_s = batch_tokens / per_s
        elif (rate := positive(cells.get("throughput/batches_per_sec"))) is not None and rate >= LEAST_RATE:
            step_s = 1 / rate
        flops = number(cells.get("throughput/device/flops_per_sec"))
        return Stepped(
            step=step,
            step_s=step_s,
            tokens=None if batch_tokens is None or not self._told.dp else round(batch_tokens / self._told.dp),
            tflops_per_gpu=None if not flops else flops / 1e12,
        )

    def _batch_tokens(self, step: int, total: int | None) -> float | None:
        """Tokens of one step of the whole job: the mean since the block before."""
        before, self._tokens = self._tokens, None if total is None else (step, total)
        if before is None or total is None or step <= before[0] or total <= before[1]:
            return None
        return (total - before[1]) / (step - before[0])
