"""DeepSpeed's own lines, for a program that prints nothing better.

Form: deepspeed/utils/timer.py and the engine's `step=10, skipped=0, lr=...`, every `steps_per_print` steps. Both lines
have a time, and two of them give the mean step. `CurrSamplesPerSec` is one step's alone and is not read; neither is
`time (ms) | forward: ...`, which has no step number and holds waiting for other ranks.
"""

import re
from collections.abc import Iterator

from collectors.training_log.cells import whole
from collectors.training_log.fact import Began, Fact, Saved, Saving, Stepped, Told
from collectors.training_log.line import Line

_STEP = re.compile(r"\[Rank (\d{1,6})\] step=(\d{1,15}), skipped=\d+,")
_SPEED = re.compile(r"\bglobal_step=(\d{1,15}), RunningAvgSamplesPerSec=")
_SAVING = re.compile(r"\bCheckpoint global_step(\d{1,15}) is about to be saved!")
_SAVED = re.compile(r"\bCheckpoint global_step(\d{1,15}) is ready now!")
_CONFIG = re.compile(r"\b(train_batch_size|world_size) \.{3,} (\d{1,12})\s*$")


class DeepSpeed:
    """Rank 0 prints."""

    def __init__(self, told: Told) -> None:
        self._told = told

    def read(self, line: Line) -> Iterator[Fact]:
        """As in `Form`. Where both lines come, the second says nothing new."""
        text = line.text
        if found := _STEP.search(text):
            yield Stepped(step=int(found[2]), global_batch_size=self._told.global_batch, rank=int(found[1]))
        elif found := _SPEED.search(text):
            rank = 0 if line.rank is None else line.rank
            yield Stepped(step=int(found[1]), global_batch_size=self._told.global_batch, rank=rank)
        elif found := _SAVING.search(text):
            yield Saving(step=int(found[1]))
        elif found := _SAVED.search(text):
            yield Saved(step=int(found[1]))
        elif found := _CONFIG.search(text):
            if found[1] == "world_size":
                self._told.world_size = whole(found[2]) or None
            else:
                self._told.global_batch = whole(found[2])
        elif "Initializing TorchBackend in DeepSpeed" in text:
            yield Began()

    def rest(self) -> Iterator[Fact]:
        """As in `Form`; nothing is held back."""
        return iter(())
