"""A TOML table that is read key by key, and says what is wrong with which key of which file."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from collectors.contract.errors import UserError

ANY = object()


class Table:
    """Every getter raises `error` naming file and key; `finish` raises it for keys that nobody asked for."""

    def __init__(self, values: Mapping[str, Any], where: str, path: str, error: type[UserError]) -> None:
        self._values = values
        self._where = where
        self._path = path
        self._error = error
        self._asked: set[str] = set()

    def wrong(self, key: str, why: str) -> UserError:
        """The error to raise about one key."""
        return self._error(f"{self._where}: {self._path}{key}: {why}")

    def text(self, key: str, default: Any = ANY) -> str:
        """A string."""
        value = self._get(key, default)
        if not isinstance(value, str) or (value == "" and default is ANY):
            raise self.wrong(key, f"{value!r} is not a text; write it in quotes")
        return value

    def texts(self, key: str, default: Any = ANY) -> list[str]:
        """A list of strings; one string stands for a list of one."""
        value = self._get(key, default)
        value = [value] if isinstance(value, str) else value
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.wrong(key, f'{value!r} is not a list of texts; write ["a", "b"]')
        return value

    def number(self, key: str, default: Any, low: float, high: float) -> float:
        """A number from `low` to `high`."""
        value = self._get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
            raise self.wrong(key, f"{value!r} is not a number")
        if not low <= value <= high and value is not default:
            raise self.wrong(key, f"{value} is not between {low:g} and {high:g}")
        return float(value)

    def numbers(self, key: str, default: Any = ANY) -> list[float]:
        """A list of numbers from 0 on."""
        value = self._get(key, default)
        if not isinstance(value, list):
            raise self.wrong(key, f"{value!r} is not a list of numbers; write [1, 2.5]")
        for item in value:
            if isinstance(item, bool) or not isinstance(item, int | float) or not 0 <= item < math.inf:
                raise self.wrong(key, f"{item!r} is not a number from 0 on")
        return [float(item) for item in value]

    def whole(self, key: str, default: Any, low: int, high: int) -> int:
        """A whole number from `low` to `high`."""
        value = self._get(key, default)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.wrong(key, f"{value!r} is not a whole number")
        if not low <= value <= high and value is not default:
            raise self.wrong(key, f"{value} is not between {low} and {high}")
        return value

    def flag(self, key: str, default: bool) -> bool:
        """true or false."""
        value = self._get(key, default)
        if not isinstance(value, bool):
            raise self.wrong(key, f"{value!r} is not true or false")
        return value

    def one_of(self, key: str, value: str, known: Iterable[str]) -> str:
        """The value, if it is known; else the error shows what is."""
        names = list(known)
        if value not in names:
            some = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
            raise self.wrong(key, f"no {value!r}; there is {some or 'none'}")
        return value

    def table(self, key: str) -> "Table":
        """A table; absent is an empty one."""
        value = self._get(key, {})
        if not isinstance(value, dict):
            raise self.wrong(key, f"not a table; write [{key}]")
        return Table(value, self._where, f"{self._path}{key}.", self._error)

    def tables(self, key: str) -> list["Table"]:
        """An array of tables; absent is none."""
        value = self._get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise self.wrong(key, f"not a list of tables; write [[{key}]]")
        return [Table(item, self._where, f"{self._path}{key}[{i}].", self._error) for i, item in enumerate(value, 1)]

    def finish(self) -> None:
        """Raise about the first key that is not known."""
        for key in self._values:
            if key not in self._asked:
                known = ", ".join(sorted(self._asked))
                raise self.wrong(key, f"not a known key; known: {known}")

    def _get(self, key: str, default: Any) -> Any:
        self._asked.add(key)
        value = self._values.get(key, default)
        if value is ANY:
            raise self.wrong(key, "missing")
        return value
