"""One value of a device, as it stands."""

from collectors.fabric.reading import Reader, Value
from collectors.fabric.series import Series

Stamp = tuple[int, int]
"""Device time in nanoseconds, and the round in which it came."""


class Cell:
    """One value with its stamp."""

    __slots__ = ("reader", "series", "stamp", "value")

    def __init__(self, series: Series, read: Reader) -> None:
        self.value: Value = None
        self.stamp: Stamp = (0, 0)
        self.series = series
        self.reader = read
