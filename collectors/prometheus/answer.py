"""What a server's HTTP API answers, as far as an import needs it (Prometheus, "HTTP API")."""

from typing import TypeVar

import msgspec
from msgspec import Struct, field

T = TypeVar("T")


class Line(Struct, frozen=True):
    """One series of a matrix: [Unix seconds, value as text]."""

    metric: dict[str, str] = field(default_factory=dict)
    values: list[tuple[float, str]] = field(default_factory=list)
    value: tuple[float, str] | None = None
    """Of an instant query."""


class Data(Struct, frozen=True):
    """The result of a query."""

    result: list[Line] = field(default_factory=list)


class Answer(Struct, frozen=True, rename={"is_partial": "isPartial", "error_type": "errorType"}):
    """An answer to a query. `is_partial` is VictoriaMetrics' own word for what others put among the warnings."""

    status: str = ""
    data: Data = Data()
    error: str = ""
    error_type: str = ""
    warnings: list[str] = field(default_factory=list)
    is_partial: bool = False

    @property
    def doubts(self) -> list[str]:
        """Why something may be missing from it; empty: nothing is."""
        return self.warnings or (["the answer is partial"] if self.is_partial else [])


class Names(Struct, frozen=True):
    """An answer to a question for label values."""

    status: str = ""
    data: list[str] | None = None
    error: str = ""


_answer = msgspec.json.Decoder(Answer)
_names = msgspec.json.Decoder(Names)


class BadAnswer(ValueError):
    """Not what the API answers; the text says why."""


def read_answer(raw: bytes) -> Answer:
    """Raises `BadAnswer`."""
    answer = _decode(_answer, raw)
    _see(answer.status, answer.error)
    return answer


def read_names(raw: bytes) -> list[str]:
    """Raises `BadAnswer`."""
    names = _decode(_names, raw)
    _see(names.status, names.error)
    return names.data or []


def read_error(raw: bytes) -> str:
    """What a refusal says of itself, at most a line."""
    try:
        told = _names.decode(raw).error
    except msgspec.MsgspecError:
        told = ""
    text = told or raw[:200].decode("utf-8", "backslashreplace")
    return " ".join(text.split())[:200]


def _decode(decoder: "msgspec.json.Decoder[T]", raw: bytes) -> T:
    try:
        return decoder.decode(raw)
    except msgspec.MsgspecError as why:
        raise BadAnswer(f"not an answer of Prometheus' API: {why}") from why


def _see(status: str, error: str) -> None:
    if status != "success":
        raise BadAnswer(f"the server says {status or 'nothing'}: {error or 'no reason'}")
