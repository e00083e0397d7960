"""Answers into DCGM's fields. Pure: recorded answers give the same."""

import math

from collectors.nvml.interview import Asked, Number, Refusal
from collectors.nvml.library import ABSENT, RESET_REQUIRED, words
from collectors.nvml.questions import FIELD_VALUES, LINK_VALUES, QUESTIONS, Answer

HOTTEST_C = 200
"""DCGM's own bound: a temperature above it is no reading."""
TEMPERATURES = frozenset({"140", "150"})
PSTATE, UNKNOWN_PSTATE = "190", 32
RECOVERY, RESET = "1523", 1.0
TOTAL, USED, RESERVED, USED_SHARE = "250", "252", "253", "254"

ANSWERS: dict[str, tuple[Answer, ...]] = {
    **{question.name: question.answers for question in QUESTIONS},
    **{f"field {value.id}": (value.answer,) for value in FIELD_VALUES},
    **{f"links {number}": (Answer(field_id),) for number, field_id in LINK_VALUES.items()},
}

Values = dict[str, float | None]


def values_of(asked: Asked) -> tuple[Values, dict[str, str]]:
    """DCGM field id -> value, and field id -> why it could not be read. What the GPU does not have is in neither."""
    values: Values = {}
    errors: dict[str, str] = {}
    for name, got in asked.answers.items():
        wanted = ANSWERS.get(name, ())
        numbers: list[Number] = [got] * len(wanted) if isinstance(got, Refusal) else got
        for answer, number in zip(wanted, numbers, strict=False):
            if not isinstance(number, Refusal):
                value = _value(answer, number)
                if value is None:
                    values.setdefault(answer.field, None)
                    errors[answer.field] = f"no such reading: {number:g}"
                else:
                    values[answer.field] = value
            elif number.code not in ABSENT and answer.field not in values:
                values[answer.field] = None
                errors[answer.field] = words(number.code)
    total, used, reserved = values.get(TOTAL), values.get(USED), values.get(RESERVED)
    if total is not None and used is not None and reserved is not None and total > reserved:
        values[USED_SHARE] = used / (total - reserved)
    if needs_reset(asked) and values.get(RECOVERY) is None:
        # NVML's refusal says in words what the field says in numbers.
        values[RECOVERY] = RESET
        errors.pop(RECOVERY, None)
    return values, errors


def needs_reset(asked: Asked) -> bool:
    """Did the GPU refuse anything until it is reset?"""
    return any(
        isinstance(number, Refusal) and number.code == RESET_REQUIRED
        for got in asked.answers.values()
        for number in (got if isinstance(got, list) else [got])
    )


def _value(answer: Answer, number: float) -> float | None:
    value = number * answer.factor if answer.factor != 1.0 else number
    if not math.isfinite(value):
        return None
    if answer.field in TEMPERATURES and value > HOTTEST_C:
        return None
    if answer.field == PSTATE and value == UNKNOWN_PSTATE:
        return None
    return math.floor(value) if answer.whole else value
