"""The training client as a callback of Hugging Face's Trainer: `Trainer(callbacks=[StepCallback(job="sft-8b")])`.

Transformers is imported when `StepCallback` is first asked for.
"""

# The hooks take what the framework gives them.
# ruff: noqa: ARG002

import os
from collections.abc import Callable, Mapping
from typing import Any

from collectors.steps.client import Run
from collectors.steps.client_loop import Loop, callback_class, gather, gpu, hook_last_gradient, many_nodes, quiet


class Hooks:
    """The hooks. `tokens` gives those of a rank's step: `lambda args: args.per_device_train_batch_size * 4096`.

    A step is an optimizer step, by `state.global_step`. `compute_s` is reported where a rank's own work can be told
    from waiting: on one device and under DDP. `options` are those of `Run`.
    """

    loop: Loop | None = None

    def __init__(
        self, job: str | None = None, *, tokens: Callable[[Any], int | None] | None = None, **options: Any
    ) -> None:
        self._job = job
        self._tokens = tokens
        self._options = options
        self._count: int | None = None
        self._hook: Any = None

    @quiet
    def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        """The rank begins, also again after an earlier `train()`."""
        if self.loop is not None:
            self.loop.stop()
        sharded = is_sharded(args, model, self._options.get("env", os.environ))
        about: dict[str, Any] = {
            "rank": args.process_index,
            "world_size": args.world_size,
            "local_rank": args.local_process_index,
        }
        if not sharded and model is not None:
            about["model"] = shape(model, args)
        run = Run(self._job, **(about | gpu(args.device) | self._options))
        self.loop = Loop(run, compute=not sharded)
        self._count = None if self._tokens is None else self._tokens(args)
        if args.world_size > 1 and not sharded and model is not None:
            self._hook = hook_last_gradient(model, run)
        if many_nodes(run.world_size):
            gather(run)
        self.loop.paused()

    @quiet
    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """The batches of the step are there."""
        if self.loop is not None:
            self.loop.begin(state.global_step + 1)

    @quiet
    def on_substep_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """One of the step's accumulated batches is done."""
        if self.loop is not None:
            self.loop.work()

    @quiet
    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """The backward pass is over, and gradients are clipped."""
        if self.loop is not None:
            self.loop.work()

    @quiet
    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """The optimizer has stepped."""
        if self.loop is not None:
            self.loop.end(state.global_step, self._count)

    @quiet
    def on_log(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Logging ended."""
        if self.loop is not None:
            self.loop.paused()

    @quiet
    def on_evaluate(self, args: Any, state: Any, control: Any, metrics: Any = None, **_: Any) -> None:
        """An evaluation ended, and was logged before: only its own metrics say how long it took."""
        if self.loop is not None:
            took_s = next((value for name, value in (metrics or {}).items() if name.endswith("_runtime")), None)
            self.loop.evaluated(state.global_step, took_s)

    @quiet
    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """A checkpoint was written."""
        if self.loop is not None:
            self.loop.saved(state.global_step)

    @quiet
    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Training is over. Of an error the Trainer tells no callback: it is told when the process exits."""
        if self._hook is not None:
            self._hook.remove()
            self._hook = None
        loop, self.loop = self.loop, None
        if loop is not None:
            loop.stop()


def is_sharded(args: Any, model: Any, env: Mapping[str, str]) -> bool:
    """Whether ranks wait for parts of one model from each other: by arguments, accelerate's launcher or the model."""
    if getattr(args, "fsdp", None) or getattr(args, "deepspeed", None):
        return True
    if any(env.get(f"ACCELERATE_USE_{name}", "").lower() in ("1", "true") for name in ("FSDP", "DEEPSPEED")):
        return True
    return model is not None and any(hasattr(parameter, "device_mesh") for parameter in model.parameters())


def shape(model: Any, args: Any) -> Mapping[str, Any] | None:
    """What MFU needs of a whole model on one rank; None where parts are frozen: their work is not the formula's."""
    sizes = [(p.numel(), p.requires_grad) for p in model.parameters()]
    total = sum(size for size, _ in sizes)
    if total == 0 or sum(size for size, trained in sizes if trained) < 0.9 * total:
        return None
    config = getattr(model, "config", None)
    heads = getattr(config, "num_attention_heads", None)
    width = getattr(config, "hidden_size", None)
    head_dim = getattr(config, "head_dim", None) or (width // heads if heads and width else None)
    experts = getattr(config, "num_local_experts", None) or getattr(config, "num_experts", None)
    return {
        "params": None if experts else total,
        "layers": getattr(config, "num_hidden_layers", None),
        "heads": heads,
        "head_dim": head_dim,
        "dtype": "bf16" if getattr(args, "bf16", False) else "fp16" if getattr(args, "fp16", False) else None,
        "name": getattr(config, "model_type", None),
    }


def __getattr__(name: str) -> Any:
    """`StepCallback`: a class that can only be made where the framework is. Raises `ImportError` elsewhere."""
    if name == "StepCallback":
        return callback_class(Hooks, "transformers.TrainerCallback")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
