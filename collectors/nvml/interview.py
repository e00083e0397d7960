"""Asking one GPU everything: numbers and refusals as they come, none of them an exception."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from collectors.nvml.library import ABSENT, FUNCTION_NOT_FOUND, GONE, GPU_IS_LOST, Handle, Nvml, code_of
from collectors.nvml.questions import FIELD_VALUES, LINK_COUNT, LINK_VALUES, QUESTIONS, FieldValue, Question

AGAIN_S = 600.0
"""What a GPU has not is asked for again so seldom: MIG and ECC modes change, and with them what it has."""
MOST_LINKS = 36
ENDS = frozenset({*GONE, GPU_IS_LOST})


class Refusal(Struct, frozen=True):
    """NVML's return code in place of a number."""

    code: int


Number = float | Refusal


class Asked(Struct, frozen=True):
    """Question -> its numbers, as NVML gave them, or why there are none."""

    answers: dict[str, list[Number] | Refusal]
    ended: int | None = None
    """The code at which the rest was not asked any more: the GPU or the driver has gone."""


class _Ended(Exception):
    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Interview:
    """One device, asked again and again. Not for two threads at once."""

    def __init__(
        self,
        nvml: Nvml,
        handle: Handle,
        branch: int,
        questions: Sequence[Question] = QUESTIONS,
        fields: Sequence[FieldValue] = FIELD_VALUES,
        links: bool = True,
    ) -> None:
        """`branch`: the driver's, 580 of 580.65.06."""
        self._nvml = nvml
        self._handle = handle
        self._questions = questions
        self._fields = [value for value in fields if value.since <= branch]
        self._links = links
        self._absent: dict[str, tuple[float, Refusal]] = {}

    def ask(self, now_s: float) -> Asked:
        """Everything that the device may have."""
        answers: dict[str, list[Number] | Refusal] = {}
        try:
            for question in self._questions:
                first = answers.get(question.instead_of or "")
                if question.instead_of is not None and not (isinstance(first, Refusal) and first.code in ABSENT):
                    continue
                answers[question.name] = self._seldom(
                    question.name,
                    now_s,
                    lambda question=question: list(question.ask(self._nvml, self._handle)),  # type: ignore[misc]
                )
            if self._fields:
                self._ask_fields(answers)
            if self._links:
                self._ask_links(answers, now_s)
        except _Ended as why:
            return Asked(answers, why.code)
        return Asked(answers)

    def _seldom(self, name: str, now_s: float, ask: Callable[[], list[Number]]) -> list[Number] | Refusal:
        kept = self._absent.get(name)
        if kept is not None and now_s < kept[0]:
            return kept[1]
        got = self._try(ask)
        if isinstance(got, Refusal) and got.code in ABSENT:
            self._absent[name] = (now_s + AGAIN_S, got)
        return got

    def _try(self, ask: Callable[[], list[Number]]) -> list[Number] | Refusal:
        try:
            return ask()
        except self._nvml.NVMLError as why:
            code = code_of(why)
        except AttributeError:  # an nvidia-ml-py older than the question
            code = FUNCTION_NOT_FOUND
        if code in ENDS:
            raise _Ended(code)
        return Refusal(code)

    def _ask_fields(self, answers: dict[str, list[Number] | Refusal]) -> None:
        ids = [value.id for value in self._fields]
        got = self._try(lambda: self._values(ids, [value.unsigned_32 for value in self._fields]))
        for at, number in enumerate(ids):
            answers[f"field {number}"] = got if isinstance(got, Refusal) else [got[at]]

    def _ask_links(self, answers: dict[str, list[Number] | Refusal], now_s: float) -> None:
        """The sum over the links that count; refused where none does."""
        counted = self._seldom("links", now_s, lambda: self._whole([LINK_COUNT]))
        first = counted[0] if isinstance(counted, list) else counted
        count = 0 if isinstance(first, Refusal) else min(int(first), MOST_LINKS)
        if not count:
            return
        asked = [(number, link) for number in LINK_VALUES for link in range(count)]
        got = self._seldom("link values", now_s, lambda: self._whole(asked))
        if isinstance(got, Refusal):
            return
        for at, number in enumerate(LINK_VALUES):
            by_link = got[at * count : (at + 1) * count]
            told = [value for value in by_link if not isinstance(value, Refusal)]
            answers[f"links {number}"] = [sum(told)] if told else [by_link[0]]

    def _whole(self, ids: "Sequence[int | tuple[int, int]]") -> list[Number]:
        """Field values of which at least one is a number; else the first refusal is raised as that of all."""
        values = self._values(ids, [False] * len(ids))
        if values and all(isinstance(value, Refusal) for value in values):
            first = values[0]
            assert isinstance(first, Refusal)
            raise self._nvml.NVMLError(first.code)
        return values

    def _values(self, ids: "Sequence[int | tuple[int, int]]", unsigned_32: Sequence[bool]) -> list[Number]:
        got = self._nvml.nvmlDeviceGetFieldValues(self._handle, list(ids))
        return [_number(value, narrow) for value, narrow in zip(got, unsigned_32, strict=True)]


_MEMBERS = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")
"""Of NVML's union, by nvmlValueType_t."""


def _number(value: "object", unsigned_32: bool) -> Number:
    code = int(value.nvmlReturn)  # type: ignore[attr-defined]
    if code != 0:
        return Refusal(code)
    kind = int(value.valueType)  # type: ignore[attr-defined]
    if unsigned_32:
        kind = 1
    if not 0 <= kind < len(_MEMBERS):
        return Refusal(2)
    number: float = getattr(value.value, _MEMBERS[kind])  # type: ignore[attr-defined]
    return number
