"""One topic's way to Kafka: straight while Kafka acknowledges, over the disk while it does not, in order."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from collectors.spool import Record, Spool


class Outcome(Enum):
    """What became of a message that was handed to Kafka."""

    DELIVERED = "delivered"
    FAILED = "failed"
    """Not now: it is tried again."""
    REFUSED = "refused"
    """Never: Kafka does not take it (too large, not valid)."""


class Send(Protocol):
    """Hand one record to Kafka's client. None: it will be reported; FAILED or REFUSED: it was not taken."""

    def __call__(self, record: Record, report: Callable[[Outcome], None]) -> Outcome | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneLimits:
    """`window_bytes` may wait for Kafka's acknowledgement; a message that waits `after_s` is also put on disk."""

    window_bytes: int = 16 << 20
    after_s: float = 2.0
    retry_s: float = 1.0


@dataclass(slots=True, eq=False)
class _Pending:
    record: Record
    sent_s: float
    number: int | None
    """Its number in the spool; None: only in memory."""
    outcome: Outcome | None = None


class Lane:
    """`_pending` is what Kafka's client has, oldest first; the spool holds what comes after, and copies of the old.

    A record is only in memory while the spool has nothing unread, so disk order is sending order.
    """

    def __init__(self, send: Send, spool: Spool, limits: LaneLimits, now_s: Callable[[], float]) -> None:
        self._send_record = send
        self.spool = spool
        self._limits = limits
        self._now_s = now_s
        self._pending: deque[_Pending] = deque()
        self._in_flight = 0
        self._failed = 0
        self._bytes = 0
        self._retry_s = 0.0
        self.away = False
        self.offered = 0
        self.delivered = 0
        self.refused = 0
        self._given_up = 0

    @property
    def lost(self) -> int:
        """Records that will never arrive."""
        return self._given_up + self.refused + self.spool.lost

    @property
    def in_flight(self) -> int:
        """Records that Kafka's client has and did not report."""
        return self._in_flight

    def offer(self, record: Record) -> None:
        """Take one record: to Kafka, or to disk behind those that wait."""
        self.offered += 1
        straight = not self.away and self.spool.unread == self.spool.end and self._bytes < self._limits.window_bytes
        if straight and self._send(record, None) is not Outcome.FAILED:
            return
        self.spill()
        if self.spool.append(record) is None:
            self._given_up += 1

    def tick(self) -> None:
        """Notice that Kafka is away or back, try again, and catch up from disk."""
        now_s = self._now_s()
        if self._pending and not self.away and now_s - self._pending[0].sent_s > self._limits.after_s:
            self.away = True
            self.spill()
        if now_s < self._retry_s:
            return
        if self._failed and not self._in_flight:
            self._resend(now_s)
        if self.away and not self._pending:
            self.away = False
        if not self.away and self._bytes < self._limits.window_bytes:
            self._catch_up()

    def spill(self) -> None:
        """Put on disk what is only in memory."""
        written = False
        for pending in self._pending:
            if pending.number is None and pending.outcome is not Outcome.DELIVERED:
                pending.number = self.spool.append(pending.record)
                written = True
        if written:
            self.spool.skip_unread()

    def _catch_up(self) -> None:
        for number, record in self.spool.take(self._limits.window_bytes - self._bytes):
            if self._send(record, number) is Outcome.FAILED:
                self._pending.append(_Pending(record, self._now_s(), number, Outcome.FAILED))
                self._failed += 1
                self._back_off()
                return

    def _resend(self, now_s: float) -> None:
        for pending in self._pending:
            if pending.outcome is not Outcome.FAILED:
                continue
            pending.outcome, pending.sent_s = None, now_s
            self._failed -= 1
            if self._hand_over(pending) is Outcome.FAILED:
                pending.outcome = Outcome.FAILED
                self._failed += 1
                self._back_off()
                break
        self._advance()

    def _send(self, record: Record, number: int | None) -> Outcome | None:
        pending = _Pending(record, self._now_s(), number)
        outcome = self._hand_over(pending)
        if outcome is None:
            self._pending.append(pending)
        elif outcome is Outcome.REFUSED and number is not None:
            self._pending.append(pending)
            self._advance()
        return outcome

    def _hand_over(self, pending: _Pending) -> Outcome | None:
        outcome = self._send_record(pending.record, lambda result: self._report(pending, result))
        if outcome is None:
            self._in_flight += 1
            self._bytes += len(pending.record.value)
        elif outcome is Outcome.REFUSED:
            self.refused += 1
            pending.outcome = Outcome.DELIVERED
        return outcome

    def _report(self, pending: _Pending, outcome: Outcome) -> None:
        self._in_flight -= 1
        self._bytes -= len(pending.record.value)
        pending.outcome = outcome
        if outcome is Outcome.FAILED:
            self._failed += 1
            self._back_off()
            self.spill()
            return
        if outcome is Outcome.REFUSED:
            self.refused += 1
            pending.outcome = Outcome.DELIVERED
        else:
            self.delivered += 1
        if not self._failed:
            self.away = False
        self._advance()

    def _advance(self) -> None:
        """Forget the settled ones at the front, in memory and on disk."""
        while self._pending and self._pending[0].outcome is Outcome.DELIVERED:
            settled = self._pending.popleft()
            if settled.number is not None:
                self.spool.release(settled.number + 1)

    def _back_off(self) -> None:
        self.away = True
        self._retry_s = self._now_s() + self._limits.retry_s
