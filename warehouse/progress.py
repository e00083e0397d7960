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
    _last_s: float = float("-inf")
    _last_samples: int = 0
    _shown: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def tell(self, text: str) -> None:
        """A line that stays."""
        with self._lock:
            self._line(f"load: {text}")

    def show(self, counts: Counts, behind: int, now_s: float) -> bool:
        """The state, when it is time for it; whether it was."""
        if now_s - self._last_s < (1.0 if self.live else self.every_s):
            return False
        seconds = now_s - self._last_s
        rate = (counts.samples - self._last_samples) / seconds if self._last_s > 0 else 0.0
        self._last_s, self._last_samples = now_s, counts.samples
        text = (
            f"load: {counts.messages:,} messages, {counts.samples:,} samples ({rate:,.0f}/s), "
            f"{'?' if behind < 0 else format(behind, ',')} behind, {counts.bad:,} bad, "
            f"{counts.commits:,} commits (last {counts.commit_s * 1e3:.0f} ms)"
        )
        with self._lock:
            if self.live:
                self.out.write(f"\r\x1b[K{text}")
                self.out.flush()
                self._shown = True
            else:
                self._line(text)
        return True

    def _line(self, text: str) -> None:
        self.out.write(("\r\x1b[K" if self._shown else "") + text + "\n")
        self.out.flush()
        self._shown = False
