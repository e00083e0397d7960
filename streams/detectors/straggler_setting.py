"""What a job runs with, as its steps tell: the hash of its configuration and the global batch size."""

from dataclasses import dataclass, field
from typing import TypeVar

from streams.detectors.straggler_limits import StragglerLimits
from streams.detectors.straggler_steps import OpenStep

T = TypeVar("T")


@dataclass(slots=True)
class Setting:
    """Of the last judged steps. None: not told, or the ranks do not agree."""

    config: str | None = None
    batch_size: int | None = None
    usual: bool = True
    """The last step had the job's own batch size; the rest of an epoch has not."""
    _odd: list[int] = field(default_factory=list)
    """The sizes of the last steps, each other than `batch_size`."""
    _varies: bool = False
    """The job's batches are of any size, which is no change of its configuration."""

    def take(self, limits: StragglerLimits, step: OpenStep) -> bool:
        """Add a judged step; whether it ran with another setting than those before."""
        config, known = agreed(step.configs), self.config
        if config is None or known in (None, config):
            self.config = known if config is None else config
            return self._take_size(limits, agreed(step.batch_sizes))
        self.config, self.batch_size = config, agreed(step.batch_sizes)
        self.usual, self._varies = True, False
        self._odd.clear()
        return True

    def _take_size(self, limits: StragglerLimits, size: int | None) -> bool:
        self.usual = True
        if size is None or self._varies:
            return False
        if self.batch_size in (None, size):
            self.batch_size = size
            self._odd.clear()
            return False
        self._odd.append(size)
        if self._odd[-limits.batch_steps :] == [size] * limits.batch_steps:
            self.batch_size = size
            self._odd.clear()
            return True
        self._varies = len(self._odd) >= limits.shift_steps
        if self._varies:
            self.batch_size = None
        self.usual = self._varies
        return False


def agreed(words: set[T]) -> T | None:
    """What all say; None: nobody says a thing, or not the same."""
    return next(iter(words)) if len(words) == 1 else None
