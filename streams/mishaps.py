"""A detector that raises: what it is set back to, and what is said of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType

from collectors.contract.message import Message
from streams.bank import Slot
from streams.contract import Finding
from streams.detector import Tick

MOST = 100
"""Mishaps that wait to be reported; more are counted alone. Our own choice: the reports have a rate limit too."""


@dataclass(frozen=True, slots=True)
class Mishap:
    """One step that raised."""

    detector: str
    message: Message | Tick
    why: str


@dataclass(slots=True)
class Mender:
    """Sets a detector back so that it goes on, for this key alone; the others never notice.

    First to what was kept of it, so that what is open stays open and can end; where that raises at the same message
    too, a fresh state; where that does as well it is the message that nobody can judge, and it is passed over.
    """

    kept: Callable[[Slot], bytes | None]
    """What was last written of a state."""
    standing: Callable[[Slot], Sequence[Message]]
    """What compacted topics say of the key of a state."""
    count: Callable[[str], None]
    """Hears the detector of every mishap."""
    waiting: list[Mishap] = field(default_factory=list)

    def mend(self, slot: Slot, message: Message | Tick, error: Exception) -> list[Finding]:
        """A state for the slot, and what it finds in the message."""
        self.note(slot.detector.name, slot.key, message, error)
        standing = self.standing(slot)
        for make, before in ((self._kept, standing), (_fresh, standing), (_fresh, ())):
            try:
                slot.state, found = slot.detector.step(make(slot), (*before, message))
            except Exception:  # noqa: BLE001 - the first error is the one that is told
                continue
            return found
        try:
            slot.state, found = slot.detector.step(self._kept(slot), standing)
        except Exception:  # noqa: BLE001 - without what stands, then
            slot.state, found = self._kept(slot), []
        return found

    def note(self, detector: str, key: str, message: Message | Tick, error: Exception) -> None:
        """To be reported."""
        self.count(detector)
        if len(self.waiting) < MOST:
            self.waiting.append(Mishap(detector, message, f"detector {detector}, {key}: {told(error)}"))

    def take(self) -> list[Mishap]:
        """What happened since the last call."""
        out, self.waiting = self.waiting, []
        return out

    def _kept(self, slot: Slot) -> object:
        raw = self.kept(slot)
        if raw is None:
            return _fresh(slot)
        try:
            return slot.detector.restore(raw)
        except Exception:  # noqa: BLE001 - a detector that raises here as well starts afresh
            return _fresh(slot)


def _fresh(slot: Slot) -> object:
    return slot.detector.fresh()


def told(error: Exception) -> str:
    """`ZeroDivisionError: division by zero (streams.detectors.throttle:88)`: what, and the line that raised."""
    return f"{type(error).__name__}: {error}"[:500] + f" ({where(error.__traceback__)})"


def where(trace: TracebackType | None) -> str:
    """Module and line that raised."""
    at = "unknown"
    while trace is not None:
        at = f"{trace.tb_frame.f_globals.get('__name__', '?')}:{trace.tb_lineno}"
        trace = trace.tb_next
    return at
