"""Megatron-LM and its kin: NeMo, Megatron-DeepSpeed, GPT-NeoX, Primus.

Form: `training_log` of megatron/training/training.py. ` | ` after each cell, `name: value` in each; which cells there
are depends on options and release, so they are read by name. NeMo counts from 0 and prints its last cell without ` |`.
"""

import re
from collections.abc import Iterator

from collectors.training_log.cells import positive, whole
from collectors.training_log.fact import Began, Ended, Evaluated, Fact, Failed, Saved, Saving, Stepped, Told
from collectors.training_log.line import Line

_STEP = re.compile(r"\biteration\s+(\d{1,15})\s*/\s*(?:\d+|infinite)\s*\|")
_TIMES = ("elapsed time per iteration", "train_step_timing in")
_TFLOPS = ("throughput per gpu (tflop/s/gpu)", "compute per gpu (tflop/s/gpu)", "tflops", "tflops_per_gpu")
_UNIT_S = {"(ms)": 1e-3, "ms": 1e-3, "(s)": 1.0, "s": 1.0, "": 1.0}
_SAVING = re.compile(r"(?<!successfully )\bsaving checkpoint at iteration\s+(\d{1,15})\b")
_SAVED = re.compile(r"\bsuccessfully saved checkpoint (?:at|from) iteration\s+(\d{1,15})\b")
_LOADED = re.compile(r"\bsuccessfully loaded checkpoint\b|\bloading (?:release |distributed )?checkpoint from\b")
_VALIDATION = re.compile(r"\bvalidation loss at iteration (\d{1,15})\b")
_TIMER = re.compile(r"^\s*(save-checkpoint|evaluate) \.{3,}: (?:\(([\d.]+), ([\d.]+)\)|([\d.]+))\s*$")
_TIMER_HEAD = re.compile(r"\btime across ranks \((ms|s)\):")
_OVER = re.compile(r"\[after training is done\]|\[?exiting program at iteration (\d+)")
_STOPPED = re.compile(r"\[?(exiting program (?:after|on) [^\]]{1,200})")
_WORLD = re.compile(r"\busing world size: (\d{1,7})\b")
_DATA_PARALLEL = re.compile(r"\bdata-parallel[ -]size: (\d{1,7})\b")
_ARGUMENT = re.compile(r"^\s*(\w+) \.{3,} (\S{1,100})\s*$")
_PARAMETERS = re.compile(r"\bTotal number of parameters in billions: ([\d.]+)\s*$")


class Megatron:
    """Steps are means over the log's interval; only the last rank prints them."""

    def __init__(self, told: Told) -> None:
        self._told = told
        self._unit_s = 1e-3
        self._saved: Saved | None = None
        self._evaluated: Evaluated | None = None

    def read(self, line: Line) -> Iterator[Fact]:
        """As in `Form`. A save or evaluation waits for the timer that is printed after it."""
        text = line.text
        if "iteration" in text and (found := _last_step(text)) is not None:
            yield from self.rest()
            yield self._step(line, found)
        elif found := _TIMER.match(text):
            yield from self._timed(found)
        elif found := _TIMER_HEAD.search(text):
            self._unit_s = _UNIT_S[found[1]]
        elif found := _SAVED.search(text):
            self._saved = Saved(step=int(found[1]))
        elif found := _SAVING.search(text):
            yield Saving(step=int(found[1]))
        elif found := _VALIDATION.search(text):
            self._evaluated = Evaluated(step=int(found[1]))
        elif _LOADED.search(text):
            yield Began()
        elif found := _OVER.search(text):
            yield from self.rest()
            yield Ended()
        elif found := _STOPPED.search(text):
            yield from self.rest()
            yield Failed(reason=found[1], sure=True, state="cancelled" if "SIG" in found[1] else "stopped")
        else:
            yield from self._tell(text)

    def rest(self) -> Iterator[Fact]:
        """As in `Form`."""
        if self._saved is not None:
            yield self._saved
        if self._evaluated is not None:
            yield self._evaluated
        self._saved = self._evaluated = None

    def _step(self, line: Line, found: re.Match[str]) -> Stepped:
        told, nemo = self._told, "epoch" in line.text[: found.start()]
        cells = _cells(line.text[found.end() :] + (" |" if nemo else ""))
        step_s = next(
            (
                None if (value := positive(cells[name])) is None else value * unit
                for name in cells
                if (unit := _unit(name)) is not None
            ),
            None,
        )
        tflops = next((value for name in _TFLOPS if (value := positive(cells.get(name))) is not None), None)
        if tflops is None:  # GPT-NeoX: `approx flops per GPU: 112.9TFLOPS`
            tflops = positive(cells.get("approx flops per gpu", "").removesuffix("TFLOPS"))
        batch = whole(cells.get("global batch size", cells.get("global_batch_size")))
        length = whole(cells.get("actual seqlen")) or told.seq_len
        tokens = None
        if batch is not None and length is not None and told.dp is not None and batch % told.dp == 0:
            tokens = batch // told.dp * length
        step = whole(cells.get("global_step"))
        return Stepped(
            step=int(found[1]) if step is None else step,
            step_s=step_s,
            tokens=tokens,
            global_batch_size=batch,
            tflops_per_gpu=tflops,
            rank=told.world_size - 1 if told.world_size and not nemo else line.rank,
        )

    def _timed(self, found: re.Match[str]) -> Iterator[Fact]:
        """`(min, max)` over ranks, or the maximum alone: training goes on when the last rank is ready."""
        seconds = positive(found[3] or found[4])
        seconds = None if seconds is None else seconds * self._unit_s
        if found[1] == "save-checkpoint":
            yield Saved(step=None if self._saved is None else self._saved.step, seconds=seconds)
            self._saved = None
        else:
            yield Evaluated(step=None if self._evaluated is None else self._evaluated.step, seconds=seconds)
            self._evaluated = None

    def _tell(self, text: str) -> Iterator[Fact]:
        told = self._told
        if found := _WORLD.search(text):
            told.world_size = int(found[1]) or None
            if found := _DATA_PARALLEL.search(text):
                told.dp = int(found[1]) or None
            yield Began()
        elif found := _PARAMETERS.search(text):
            told.params = (positive(found[1]) or 0) * 1e9 or told.params
        elif found := _ARGUMENT.match(text):
            self._argument(found[1], found[2])

    def _argument(self, name: str, value: str) -> None:
        told = self._told
        match name:
            case "seq_length":
                told.seq_len = whole(value)
            case "num_layers":
                told.layers = whole(value)
            case "num_attention_heads":
                told.heads = whole(value)
            case "kv_channels":
                told.head_dim = whole(value)
            case "num_experts":
                told.experts = (whole(value) or 0) > 1
            case "data_parallel_size":
                told.dp = whole(value) or told.dp
            case "params_dtype":
                told.dtype = {"torch.bfloat16": "bf16", "torch.float16": "fp16"}.get(value, value)


def _last_step(text: str) -> re.Match[str] | None:
    """Where a rank wrote into another one's line, the last is whole."""
    return next(reversed([*_STEP.finditer(text)]), None)


def _cells(text: str) -> dict[str, str]:
    """Names in lower case. What stands behind the last ` |` was cut off, where another rank wrote into the line."""
    pairs = (cell.rpartition(": ") for cell in text.split("|")[:-1])
    return {name.strip().lower(): value.strip() for name, colon, value in pairs if colon}


def _unit(name: str) -> float | None:
    return next((_UNIT_S.get(name[len(time) :].strip()) for time in _TIMES if name.startswith(time)), None)
