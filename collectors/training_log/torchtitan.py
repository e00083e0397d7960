"""torchtitan.

Form: torchtitan/components/metrics.py: `step:  1  loss:  8.0277 ... tps: 5,756  tflops: 0.41  mfu: 0.04%`, two spaces
between fields. It prints no step time: that comes from the stamps of two lines. Its `mfu` is not read: for a GPU that
it does not know it stands on another one's peak.
"""

import re
from collections.abc import Iterator

from collectors.training_log.cells import number, positive
from collectors.training_log.fact import Began, Ended, Evaluated, Fact, Saved, Saving, Stepped, Told
from collectors.training_log.line import Line

_STEP = re.compile(r"(?P<validate>\bvalidate )?\bstep: {0,8}(?P<step>\d{1,15})(?:/\d+ = [\d.]+%)? {1,4}loss: ")
_TFLOPS = re.compile(r" tflops: {0,8}([\d,.]+)(?= )")
_SAVING = re.compile(r"\bSaving (?:the|a .{0,60}) ?checkpoint\b(?:.{0,60}\bstep (\d{1,15})\b)?")
_SAVED = re.compile(r"\bFinished saving the checkpoint\b.{0,60}?in ([\d.]+) seconds")
_LOADING = re.compile(r"\bLoading the checkpoint (?:from|at)\b|\bStarting job:")
_STARTS = re.compile(r"\bTraining starts at step (\d{1,15})\b")
_BATCH = re.compile(
    r"\bTrainer is initialized with local batch size (\d{1,9}), global batch size (\d{1,9}), "
    r"gradient.accumulation.steps:? (\d{1,6}), sequence length (\d{1,9}),"
)
_MESH = re.compile(r"\bBuilding device mesh with parallelism: (pp=.{1,120})")
_MODEL = re.compile(r"\bModel (\S{1,60}) (\S{1,60}) size: ([\d,]+) total parameters\b")
_EXPERTS = re.compile(r"\bTotal parameter count: dense [\d,]+, sparse [\d,]+, active ([\d,]+)")


class Torchtitan:
    """Rank 0 prints, or the first rank of the last pipeline stage; some print on all."""

    def __init__(self, told: Told) -> None:
        self._told = told

    def read(self, line: Line) -> Iterator[Fact]:
        """As in `Form`."""
        text = line.text
        if found := _STEP.search(text):
            if found["validate"] is not None:
                yield Evaluated(step=int(found["step"]))
                return
            tflops = _TFLOPS.search(text, found.end())
            yield Stepped(
                step=int(found["step"]),
                tokens=self._told.replica_tokens,
                global_batch_size=self._told.global_batch,
                tflops_per_gpu=None if tflops is None else positive(tflops[1]),
                rank=line.rank,
            )
        elif found := _SAVED.search(text):
            yield Saved(seconds=number(found[1]))
        elif found := _SAVING.search(text):
            yield Saving(step=None if found[1] is None else int(found[1]))
        elif _LOADING.search(text):
            yield Began()
        elif found := _STARTS.search(text):
            yield Began(at_step=int(found[1]) - 1)
        elif "Training completed" in text:
            yield Ended()
        else:
            self._tell(text)

    def rest(self) -> Iterator[Fact]:
        """As in `Form`; nothing is held back."""
        return iter(())

    def _tell(self, text: str) -> None:
        told = self._told
        if found := _BATCH.search(text):
            local, total, times, length = (int(part) for part in found.groups())
            told.global_batch, told.seq_len, told.replica_tokens = total, length, local * times * length
        elif found := _MESH.search(text):
            sizes = {name: int(size) for name, size in re.findall(r"(\w+)=(\d{1,7})", found[1])}
            told.dp = sizes.get("dp_replicate", 1) * sizes.get("dp_shard", 1)
            told.world_size = told.dp * sizes.get("pp", 1) * sizes.get("cp", 1) * sizes.get("tp", 1)
        elif found := _MODEL.search(text):
            told.name, told.params = f"{found[1]} {found[2]}", number(found[3])
        elif found := _EXPERTS.search(text):
            told.experts, told.active_params = True, number(found[1])
