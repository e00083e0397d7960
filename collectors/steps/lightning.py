"""The training client as a callback of PyTorch Lightning: `Trainer(callbacks=[StepCallback(job="llm-7b")])`.

Lightning is imported when `StepCallback` is first asked for, under either of its names.
"""

# The hooks take what the framework gives them.
# ruff: noqa: ARG002

import time
from collections.abc import Callable
from typing import Any

from collectors.steps.client import Run
from collectors.steps.client_loop import Loop, callback_class, gather, gpu, hook_last_gradient, quiet

_APART = ("SingleDevice", "DDP")
"""Strategies whose ranks wait for one another only in the backward pass, where a hook finds it."""


class Hooks:
    """The hooks. `tokens` counts those of a batch: `lambda batch: batch["input_ids"].numel()`.

    A step is an optimizer step, by `trainer.global_step`; accumulated batches are one step. `compute_s` is reported
    where a rank's own work can be told from waiting: on one device and under DDP. `options` are those of `Run`.
    """

    loop: Loop | None = None

    def __init__(
        self, job: str | None = None, *, tokens: Callable[[Any], int | None] | None = None, **options: Any
    ) -> None:
        self._job = job
        self._tokens = tokens
        self._options = options
        self._count: int | None = None
        self._last = 0
        self._eval_s: float | None = None
        self._undo: list[Callable[[], Any]] = []

    @quiet
    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """The rank begins: its process group and device are there."""
        if stage != "fit" or self.loop is not None:
            return
        about: dict[str, Any] = {
            "rank": trainer.global_rank,
            "world_size": trainer.world_size,
            "local_rank": trainer.local_rank,
        }
        run = Run(self._job, **(about | gpu(trainer.strategy.root_device) | self._options))
        compute = type(trainer.strategy).__name__.startswith(_APART)
        self.loop = Loop(run, compute=compute)
        self._time_saves(trainer)
        if trainer.num_nodes > 1:
            gather(run)

    @quiet
    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """The model is where it will be trained."""
        if self.loop is None:
            return
        if trainer.world_size > 1 and type(trainer.strategy).__name__.startswith("DDP"):
            handle = hook_last_gradient(pl_module, self.loop.run)
            if handle is not None:
                self._undo.append(handle.remove)
        self._last = trainer.global_step
        self.loop.paused()

    @quiet
    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        """The batch is there."""
        if self.loop is None:
            return
        if self._tokens is not None:
            found = self._tokens(batch)
            self._count = None if found is None else found + (self._count or 0)
        if _by_itself(pl_module):
            self.loop.forward(trainer.global_step + 1)
        else:
            self.loop.begin(trainer.global_step + 1)

    @quiet
    def on_before_backward(self, trainer: Any, pl_module: Any, loss: Any) -> None:
        """The forward pass of a batch is over."""
        if self.loop is not None and _by_itself(pl_module):
            self.loop.backward()

    @quiet
    def on_after_backward(self, trainer: Any, pl_module: Any) -> None:
        """Forward and backward of a batch are launched."""
        if self.loop is not None:
            self.loop.rest()

    @quiet
    def on_before_optimizer_step(self, trainer: Any, pl_module: Any, optimizer: Any) -> None:
        """The optimizer begins."""
        if self.loop is not None:
            self.loop.work()

    @quiet
    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """A batch is done; so is its step if the optimizer has stepped."""
        if self.loop is None:
            return
        if trainer.global_step == self._last:
            self.loop.accumulated()
            return
        self._last = trainer.global_step
        self.loop.end(self._last, self._count)
        self._count = None

    @quiet
    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        """Also before the first step, as a sanity check, which is no evaluation."""
        self._eval_s = None if trainer.sanity_checking else time.perf_counter()

    @quiet
    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """The evaluation is over."""
        if self.loop is not None and self._eval_s is not None:
            self.loop.evaluated(trainer.global_step, time.perf_counter() - self._eval_s)
        self._eval_s = None

    @quiet
    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """Training failed, or was stopped by hand."""
        if self.loop is not None:
            stopped = isinstance(exception, KeyboardInterrupt)
            reason = f"{type(exception).__name__}: {exception}"[:300]
            self.loop.stop("cancelled" if stopped else "failed", reason)

    @quiet
    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Training is over."""
        if stage != "fit" or self.loop is None:
            return
        for undo in self._undo:
            undo()
        self._undo.clear()
        loop, self.loop = self.loop, None
        loop.stop()

    @quiet
    def _saved(self, trainer: Any, seconds: float) -> None:
        if self.loop is not None:
            self.loop.saved(trainer.global_step, seconds)

    def _time_saves(self, trainer: Any) -> None:
        """Lightning has no hook behind a save: this trainer's method is timed until training is over."""
        save = trainer.save_checkpoint

        def timed(*args: Any, **kwargs: Any) -> Any:
            began_s = time.perf_counter()
            result = save(*args, **kwargs)
            self._saved(trainer, time.perf_counter() - began_s)
            return result

        trainer.save_checkpoint = timed
        self._undo.append(lambda: trainer.__dict__.pop("save_checkpoint", None))


def _by_itself(pl_module: Any) -> bool:
    """Whether Lightning calls forward and backward once a batch, and not the user's code as it likes."""
    return getattr(pl_module, "automatic_optimization", False) is True


def __getattr__(name: str) -> Any:
    """`StepCallback`: a class that can only be made where the framework is. Raises `ImportError` elsewhere."""
    if name == "StepCallback":
        return callback_class(Hooks, "lightning.pytorch.callbacks.Callback", "pytorch_lightning.callbacks.Callback")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
