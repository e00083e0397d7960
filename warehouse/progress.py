"""What `lockstep load` says of itself: one line that changes on a terminal, plain lines elsewhere."""

import threading
from dataclasses import dataclass, field
from typing import TextIO


@dataclass(slots=True)
class Counts:
    """What was loaded since the start."""

    messages: int = 0
    samples: int = 0
    commits: int = 0
    bad: int = 0
    commit_s: float = 0.0
    """How long the last commit took."""


@dataclass(slots=True)
class Progress:
    """Writes to `out`. `tell` may be called from any thread."""

    out: TextIO
    every_s: float
    live: bool
    start_s: float
    _shown_s: float = field(init=False)
    _samples: int = 0
    _open: bool = False
    """A line that will change stands on the terminal."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._shown_s = self.start_s

    def tell(self, text: str) -> None:
        """A line that stays."""
        with self._lock:
            self._line(f"load: {text}")

    def show(self, counts: Counts, behind: int, now_s: float) -> bool:
        """The state, when it is time for it; whether it was."""
        if now_s - self._shown_s < (1.0 if self.live else self.every_s):
            return False
        rate = (counts.samples - self._samples) / (now_s - self._shown_s)
        self._shown_s, self._samples = now_s, counts.samples
        waiting = "" if behind < 0 else f", {behind:,} messages behind"
        text = f"load: {told(counts)}; {rate:,.0f} samples/s{waiting}"
        with self._lock:
            if self.live:
                self.out.write(f"\r\x1b[K{text}")
                self.out.flush()
                self._open = True
            else:
                self._line(text)
        return True

    def _line(self, text: str) -> None:
        self.out.write(("\r\x1b[K" if self._open else "") + text + "\n")
        self.out.flush()
        self._open = False


def told(counts: Counts) -> str:
    """What was loaded, in words."""
    bad = f", {counts.bad:,} bad" if counts.bad else ""
    last = f" (the last took {counts.commit_s * 1e3:.0f} ms)" if counts.commits else ""
    return f"{counts.messages:,} messages with {counts.samples:,} samples{bad} in {counts.commits:,} commits{last}"
