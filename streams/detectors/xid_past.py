"""What a GPU or switch went through in the last weeks: one fault is news, the same again is a reason to act."""

from collections.abc import Iterable, Iterator

from msgspec import Struct, field

MOST_PARTS = 64
MOST_KINDS = 32
MOST_MARKS = 16
MOST_PLACES = 8


class Mark(Struct):
    """One event: lines of one kind that are close together in time."""

    first_us: int
    last_us: int
    who: str | None = None
    """The job, else the process."""
    places: list[str] = field(default_factory=list)
    """Where on the chip, if the lines say so."""


class Past(Struct):
    """Of one part. Bounded: of too many kinds or marks the oldest go."""

    marks: dict[str, list[Mark]] = field(default_factory=dict)
    reset_us: int = 0
    """The last reset that was seen: what comes after it is not the fault from before it."""
    ended: dict[int, int] = field(default_factory=dict)
    """Code -> when the driver said that it is over."""

    def note(
        self, kind: str, ts_us: int, *, apart_us: int, memory_us: int, who: str | None = None, place: str | None = None
    ) -> int:
        """Take in a line; how many events of that kind there were within `memory_us` before it, its own included."""
        marks = self.marks.get(kind)
        if marks is None:
            if len(self.marks) >= MOST_KINDS:
                del self.marks[min(self.marks, key=lambda k: self.marks[k][-1].last_us)]
            marks = self.marks[kind] = []
        mark = self._mark(marks, ts_us, apart_us, memory_us, who)
        if place is not None and place not in mark.places and len(mark.places) < MOST_PLACES:
            mark.places.append(place)
        return sum(ts_us - memory_us <= m.last_us and m.first_us <= ts_us for m in marks)

    def _mark(self, marks: list[Mark], ts_us: int, apart_us: int, memory_us: int, who: str | None) -> Mark:
        for mark in reversed(marks):
            if mark.first_us - apart_us <= ts_us <= mark.last_us + apart_us and not self._reset_between(mark, ts_us):
                mark.first_us, mark.last_us = min(mark.first_us, ts_us), max(mark.last_us, ts_us)
                if mark.who is None:
                    mark.who = who
                return mark
        mark = Mark(ts_us, ts_us, who)
        marks.append(mark)
        marks.sort(key=lambda m: m.first_us)
        newest_us = marks[-1].last_us
        marks[:] = [m for m in marks if m is mark or m.last_us >= newest_us - memory_us][-MOST_MARKS:]
        return mark

    def _reset_between(self, mark: Mark, ts_us: int) -> bool:
        return mark.last_us < self.reset_us <= ts_us

    @property
    def last_us(self) -> int:
        """The last event of any kind."""
        return max((marks[-1].last_us for marks in self.marks.values()), default=0)


def past_of(pasts: dict[str, Past], part: str) -> Past:
    """The past of a part, made if it has none; the part that was quiet longest makes room."""
    past = pasts.get(part)
    if past is None:
        if len(pasts) >= MOST_PARTS:
            del pasts[min(pasts, key=lambda p: pasts[p].last_us)]
        past = pasts[part] = Past()
    return past


def marks_of(pasts: Iterable[Past], kind: str, since_us: int, until_us: int) -> Iterator[Mark]:
    """All marks of a kind that touch a stretch of time."""
    for past in pasts:
        for mark in past.marks.get(kind, ()):
            if since_us <= mark.last_us and mark.first_us <= until_us:
                yield mark
