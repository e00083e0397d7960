"""A training loop as a framework's callbacks see it. Part of the training client.

A callback hears of moments, not of spans: what lies between two of them is named here, once for all frameworks.
"""

import contextlib
import functools
import importlib
import os
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from collectors.steps.client import Run
from collectors.steps.client_env import whole
from collectors.steps.client_step import BACKWARD, FORWARD, TROUBLE, Span, Step

Hook = TypeVar("Hook", bound=Callable[..., None])


class Loop:
    """One rank's loop. `compute`: whether its own work can be told from waiting for other ranks.

    The time between two steps is the wait for the next batch, less what `paused`, `evaluated` and `saved` take out.
    """

    def __init__(self, run: Run, *, compute: bool) -> None:
        self.run = run
        self._compute = compute
        self._step: Step | None = None
        self._span: Span | None = None
        self._free_s: float | None = None
        """When the last thing before the next batch ended."""

    def begin(self, step: int, part: str = "compute_s") -> None:
        """The batch is there; own work begins. A step that is open goes on: its batches are accumulated."""
        if self._step is None:
            self._step = self.run.step(step).__enter__()
        if self._free_s is not None:
            self._step.waited(time.perf_counter() - self._free_s)
            self._free_s = None
        self.work(part)

    def forward(self, step: int) -> None:
        """As `begin`, where `backward` will tell when the forward pass is over."""
        self.begin(step, FORWARD)

    def backward(self) -> None:
        """The backward pass begins."""
        self.work(BACKWARD)

    def work(self, part: str = "compute_s") -> None:
        """Own work goes on, after `rest`."""
        if self._compute and self._step is not None:
            self.rest()
            self._span = Span(self._step, part)
            self._span.__enter__()

    def rest(self) -> None:
        """Own work, or the waiting that it turned into, is over."""
        span, self._span = self._span, None
        if span is not None:
            span.__exit__(None, None, None)

    def accumulated(self) -> None:
        """A batch is done and its step is not."""
        self.rest()
        self._free_s = time.perf_counter()

    def end(self, step: int, tokens: int | None = None) -> None:
        """The optimizer has stepped; `step` is its number."""
        self.rest()
        ended, self._step = self._step, None
        if ended is not None:
            ended.step, ended.tokens = step, tokens
            ended.__exit__(None, None, None)
        self._free_s = time.perf_counter()

    def paused(self) -> None:
        """Something else ended, such as logging: it is nobody's wait for data."""
        self._free_s = time.perf_counter()

    def evaluated(self, step: int, seconds: float | None) -> None:
        """An evaluation ended."""
        self.run.report(step, phase="eval", step_s=seconds)
        self.paused()

    def saved(self, step: int, seconds: float | None = None) -> None:
        """A checkpoint was written; without `seconds` it took the time since the last moment."""
        if seconds is None and self._free_s is not None:
            seconds = time.perf_counter() - self._free_s
        self.run.saved(step, seconds)
        self.paused()

    def stop(self, state: str | None = "completed", reason: str | None = None) -> None:
        """Training is over; a step that is open has no time that could be compared."""
        self._step = self._span = None
        self.run.begun(None)
        self.run.end(state, reason)


def quiet(hook: Hook) -> Hook:
    """A callback's hook that never raises into training: what it could not read is not reported."""

    @functools.wraps(hook)
    def called(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            hook(self, *args, **kwargs)
        except TROUBLE:
            loop: Loop | None = self.loop
            if loop is not None:
                loop.run.lose()

    return cast(Hook, called)


def gpu(device: Any) -> dict[str, Any]:
    """What `Run` takes about the GPU of a torch device; nothing where that is none."""
    torch: Any = sys.modules.get("torch")
    if torch is None or getattr(device, "type", None) != "cuda":
        return {}
    properties = torch.cuda.get_device_properties(device)
    return {
        "gpu_uuid": getattr(properties, "uuid", None),  # since torch 2.5
        "gpu_model": properties.name,
        "event": lambda: torch.cuda.Event(enable_timing=True),
    }


def many_nodes(world_size: int, env: Mapping[str, str] = os.environ) -> bool:
    """Whether the launcher says that the job has more ranks than this node."""
    here = whole(None, env, ("LOCAL_WORLD_SIZE", "SLURM_NTASKS_PER_NODE", "OMPI_COMM_WORLD_LOCAL_SIZE"), world_size)
    return here < world_size


def gather(run: Run) -> None:
    """Tell the placement of a job on several nodes. A collective: every rank has to get here, with all callbacks."""
    torch: Any = sys.modules.get("torch")
    if torch is not None and torch.distributed.is_available() and torch.distributed.is_initialized():
        run.place_by(torch.distributed.all_gather_object)


def hook_last_gradient(model: Any, run: Run) -> Any:
    """From the gradient that comes last, as a rule the first parameter's, what is left of the backward is waiting.

    The handle to remove the hook by; None without such a parameter.
    """
    first = next((parameter for parameter in model.parameters() if parameter.requires_grad), None)
    register = getattr(first, "register_post_accumulate_grad_hook", None)  # since torch 2.1
    return None if register is None else register(lambda _: run.waits())


@functools.cache
def callback_class(hooks: type, *bases: str) -> type:
    """The hooks as a class of their framework's: the first of `bases` (`package.Class`) whose package is installed.

    Raises `ImportError` where none is.
    """
    for base in bases:
        package, _, name = base.rpartition(".")
        with contextlib.suppress(ModuleNotFoundError):
            kind = getattr(importlib.import_module(package), name)
            return type("StepCallback", (hooks, kind), {"__module__": hooks.__module__, "__doc__": hooks.__doc__})
    raise ImportError(f"StepCallback needs {' or '.join(base.partition('.')[0] for base in bases)}")
