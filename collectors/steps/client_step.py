"""A step while it runs, and its timed parts. Part of the training client."""

import time
from collections import deque
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Protocol

TROUBLE = (ArithmeticError, AttributeError, LookupError, OSError, RuntimeError, TypeError, ValueError)
"""What odd values, a full socket or a failing CUDA call raise: none of it is training's business."""
FORWARD, BACKWARD = "microbatch_forward_s", "microbatch_backward_s"
OWN = ("compute_s", FORWARD, BACKWARD)
LATE_STEPS = 16
"""Steps that may wait for the GPU; the oldest is then reported without the GPU's times."""


class GpuTimers:
    """Times on the GPU's own stream. `event` makes what `torch.cuda.Event(enable_timing=True)` makes.

    Nothing here waits for the GPU: a step is reported by a later one, when its timers have passed.
    """

    def __init__(self, event: Callable[[], Any] | None) -> None:
        self._event = event
        self._free: list[Any] = []
        self._late: deque[Step] = deque()
        self.missed = 0
        """Steps that were reported without the GPU's times, which came too late or not at all."""

    def mark(self) -> Any:
        """A recorded event; None where there are none. After one failure the host's clock is used."""
        if self._event is None:
            return None
        try:
            timer = self._free.pop() if self._free else self._event()
            timer.record()
        except TROUBLE:
            self._event = None
            return None
        return timer

    def ended(self, step: "Step") -> None:
        """A step's host side is over: report what the GPU has finished, in order."""
        if not step.pairs and not self._late:
            step.settle(with_gpu=False)
            return
        self._late.append(step)
        self._ripen(LATE_STEPS)

    def flush(self) -> None:
        """Report all steps, with the GPU's times where it has them."""
        self._ripen(0)

    def _ripen(self, may_wait: int) -> None:
        while self._late:
            done = self._late[0].gpu_done()
            if not done and len(self._late) <= may_wait:
                return
            step = self._late.popleft()
            self.missed += not done
            self._free += step.settle(with_gpu=done)


class StepOwner(Protocol):
    """Whose step it is."""

    timers: GpuTimers
    config_hash: str | None

    def begun(self, step: "Step | None") -> None:
        """The step that runs now; None: it has ended."""

    def settled(self, step: "Step") -> None:
        """All that can be known of the step is known."""


class Step:
    """One step. `compute()`, `wait()`, `transfer()` and `data()` time parts of it and add up; so do `forward()` and
    `backward()`, which are own work of one microbatch.

    The attributes with a default may be set inside; None is unknown.
    """

    tokens: int | None = None
    sum_sq_len: int | None = None
    tflops_per_gpu: float | None = None
    cpu_s: float | None = None
    checkpoint_s: float | None = None
    global_batch_size: int | None = None
    pairs: Sequence[tuple[str, Any, Any]] = ()
    open: "Span | None" = None

    def __init__(self, step: int, phase: str, owner: StepOwner) -> None:
        self.step = step
        self.phase = phase
        self.start_us = 0
        self.step_s = 0.0
        self.seconds: dict[str, float] = {}
        self.microbatches: dict[str, list[float]] = {}
        self.config_hash = owner.config_hash
        self.timers = owner.timers
        self._owner = owner

    def compute(self) -> "Span":
        """Own work: forward, backward, optimizer; without waiting for other ranks."""
        return Span(self, "compute_s")

    def forward(self) -> "Span":
        """The forward pass of one microbatch, as a part of `compute`."""
        return Span(self, FORWARD)

    def backward(self) -> "Span":
        """Its backward pass, as a part of `compute`."""
        return Span(self, BACKWARD)

    def wait(self) -> "Span":
        """Waiting for other ranks."""
        return Span(self, "wait_s")

    def transfer(self) -> "Span":
        """Moving bytes between ranks, where that is known apart from waiting."""
        return Span(self, "transfer_s")

    def data(self) -> "Span":
        """Waiting for the next batch; on the host's clock."""
        return Span(self, "data_s")

    def __enter__(self) -> "Step":
        self._owner.begun(self)
        self.start_us = time.time_ns() // 1000
        self._began_s = time.perf_counter()
        return self

    def __exit__(self, kind: type[BaseException] | None, why: BaseException | None, _: TracebackType | None) -> None:
        self.step_s = time.perf_counter() - self._began_s
        self._owner.begun(None)
        if kind is None:  # a step that failed half-way has no time that could be compared
            self.timers.ended(self)

    def waited(self, seconds: float) -> None:
        """The step began so much earlier, waiting for its batch; for a loop that hears of the batch when it is there.

        Of a batch that is accumulated, the step has already counted that time.
        """
        if not self.seconds and not self.pairs:
            self._began_s -= seconds
            self.start_us -= int(seconds * 1e6)
        self.seconds["data_s"] = self.seconds.get("data_s", 0.0) + seconds

    def spent(self, name: str, seconds: float) -> None:
        """A part of the step took so long."""
        if name in (FORWARD, BACKWARD):
            self.microbatches.setdefault(name, []).append(seconds)
            name = "compute_s"
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds

    def gpu_done(self) -> bool:
        """Whether every timer of the step has passed on the GPU."""
        try:
            return all(end.query() for _, _, end in self.pairs)
        except TROUBLE:
            return False

    def settle(self, *, with_gpu: bool) -> list[Any]:
        """Report the step, without the GPU's times where they are not there; gives the timers back.

        Also those that have not passed: to record one again makes it forget.
        """
        try:
            for name, begin, end in self.pairs if with_gpu else ():
                self.spent(name, begin.elapsed_time(end) / 1000.0)
        except TROUBLE:
            self.seconds.clear()
            self.microbatches.clear()
        self._owner.settled(self)
        return [timer for _, begin, end in self.pairs for timer in (begin, end)]


class Span:
    """A timed part of a step: on the GPU where it has timers, else on the host."""

    __slots__ = ("_began_s", "_name", "_step", "_timer")

    def __init__(self, step: Step, name: str) -> None:
        self._step = step
        self._name = name

    def __enter__(self) -> None:
        self._step.open = self
        self._timer = None if self._name == "data_s" else self._step.timers.mark()
        self._began_s = time.perf_counter()

    def __exit__(self, kind: type[BaseException] | None, why: BaseException | None, _: TracebackType | None) -> None:
        step = self._step
        step.open = None
        if self._timer is None:
            step.spent(self._name, time.perf_counter() - self._began_s)
        elif (end := step.timers.mark()) is not None:
            step.pairs = (*step.pairs, (self._name, self._timer, end))

    def waits(self) -> None:
        """The own work is over: what is left of the span is waiting."""
        if self._name in OWN:
            self.__exit__(None, None, None)
            self._name = "wait_s"
            self.__enter__()


class Phase:
    """Steps begun inside belong to another phase."""

    def __init__(self, phase: str, swap: Callable[[str], str]) -> None:
        self._phase = phase
        self._swap = swap

    def __enter__(self) -> None:
        self._before = self._swap(self._phase)

    def __exit__(self, kind: type[BaseException] | None, why: BaseException | None, _: TracebackType | None) -> None:
        self._swap(self._before)


class Checkpoint:
    """A save that blocks training. `bytes` may be set inside; `seconds` is there afterwards."""

    def __init__(self, step: int, size: int | None, saved: Callable[["Checkpoint"], None]) -> None:
        self.step = step
        self.bytes = size
        self.seconds: float | None = None
        self._saved = saved

    def __enter__(self) -> "Checkpoint":
        self._began_s = time.perf_counter()
        return self

    def __exit__(self, kind: type[BaseException] | None, why: BaseException | None, _: TracebackType | None) -> None:
        self.seconds = time.perf_counter() - self._began_s
        if kind is None:
            self._saved(self)
