"""PyTorch Lightning's bars: `Epoch 0:  22%|██▏       | 4/18 [00:17<01:02,  4.47s/it, v_num=1]`.

A bar counts batches of its epoch: with gradient accumulation a step here is a batch. Its rate is tqdm's, smoothed over
the last few batches.
"""

import re
from collections.abc import Iterator

from collectors.training_log.bar import read_bar
from collectors.training_log.fact import Began, Ended, Evaluated, Fact, Stepped, Told
from collectors.training_log.line import Line

_EPOCH = re.compile(r"Epoch (\d{1,9})(?:/\d+)?$")
_STOPPED = re.compile(r"`Trainer\.fit` stopped: `?([^`]{1,80})")
_PROCESSES = re.compile(r"\bStarting with (\d{1,7}) processes\b")


class Lightning:
    """Rank 0 draws. Steps count on over epochs by the bar's total, or by how far the epoch before was seen to get."""

    def __init__(self, told: Told) -> None:
        self._told = told
        self._epoch = 0
        self._before = 0
        self._done = 0

    def read(self, line: Line) -> Iterator[Fact]:
        """As in `Form`."""
        text = line.text
        bar = read_bar(text)
        if bar is not None and (found := _EPOCH.match(bar.name)):
            epoch = int(found[1])
            if bar.total is not None:
                self._before = epoch * bar.total
            elif epoch < self._epoch:
                self._before = 0
            elif epoch > self._epoch:
                self._before += self._done
            self._epoch, self._done = epoch, bar.done
            if bar.done > 0:
                yield Stepped(step=self._before + bar.done, step_s=bar.step_s, rank=line.rank)
        elif bar is not None and bar.name.startswith("Validation") and bar.done == bar.total:
            yield Evaluated()
        if found := _STOPPED.search(text):
            yield Ended(reason=found[1])
        elif found := _PROCESSES.search(text):
            self._told.world_size = int(found[1]) or None
            yield Began()
        elif "Restoring states from the checkpoint" in text:
            yield Began()

    def rest(self) -> Iterator[Fact]:
        """As in `Form`; nothing is held back."""
        return iter(())
