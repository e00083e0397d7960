"""Hugging Face's Trainer: an unnamed bar of all its steps, and metrics as a Python dict in a line.

The dicts carry no step number, so steps come from the bar: its rate is tqdm's, smoothed over the last few steps. Since
transformers 5 the dict's values are quoted. `Number of trainable parameters` is not the model's size under LoRA.
"""

import re
from collections.abc import Iterator

from collectors.training_log.bar import read_bar
from collectors.training_log.cells import number
from collectors.training_log.fact import Began, Ended, Evaluated, Fact, Saved, Stepped
from collectors.training_log.line import Line

_LOSS = re.compile(r"\{'loss': ")
_METRIC = re.compile(r"'(train_runtime|eval_runtime)': '?([\d.]+)'?(?=[,}])")
_SAVED = re.compile(r"\bSaving model checkpoint to \S{0,2000}checkpoint-(\d{1,15})\b")
_STEPS = re.compile(r"\bTotal optimization steps = ([\d,]+)\s*$")


class HuggingFace:
    """The first local process draws and prints. `named`: the user says that it is Hugging Face's log.

    Any program may draw an unnamed bar, so without that it counts for steps only after the Trainer's banner or after a
    dict of its, and the training's bar is the one that was drawn before the dict.
    """

    def __init__(self, named: bool) -> None:
        self._sure = named
        self._total: int | None = None
        self._drawn: int | None = None
        """The total of the bar that was drawn last."""

    def read(self, line: Line) -> Iterator[Fact]:
        """As in `Form`. Bars of other lengths than the training's own are evaluation's."""
        text = line.text
        bar = read_bar(text)
        if bar is not None and not bar.name and bar.total is not None:
            self._drawn = bar.total
            if self._sure and self._total in (None, bar.total):
                self._total = bar.total
                if bar.done > 0:
                    yield Stepped(step=bar.done, step_s=bar.step_s, rank=line.rank)
        if _LOSS.search(text):
            self._sure = True
            self._total = self._total or self._drawn
        if found := _METRIC.search(text):
            if found[1] == "eval_runtime":
                yield Evaluated(seconds=number(found[2]))
            else:
                yield Ended()
        elif found := _SAVED.search(text):
            yield Saved(step=int(found[1]))
        elif "***** Running training *****" in text:
            self._sure, self._total = True, None
            yield Began()
        elif found := _STEPS.search(text):
            total = number(found[1])
            self._total = None if total is None else int(total)

    def rest(self) -> Iterator[Fact]:
        """As in `Form`; nothing is held back."""
        return iter(())
