"""Raw values of any form."""

import struct

import pytest

from collectors.fabric.reading import Unreadable, flag, gbps, number, reader, text
from collectors.fabric.vocabulary import counter_table


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ("18446744073709551615", 18446744073709551615),
        ("0", 0),
        (9007199254740993, 9007199254740993),
        ("9007199254740993", 9007199254740993),
        ("-5", -5),
        (3.0, 3),
        ("1.5e-3", 0.0015),
        (True, 1),
        (struct.pack(">f", 1.5), 1.5),
    ],
)
def test_a_number_of_any_form_is_exact(raw: str | int | float | bytes, value: float) -> None:
    assert number(raw) == value
    assert type(number(raw)) is type(value)


@pytest.mark.parametrize("raw", ["N/A", "", "nan", "inf", float("nan"), [1], {}, "12 packets", "9" * 5000, 2**200])
def test_what_is_no_number_is_never_a_zero(raw: object) -> None:
    with pytest.raises(Unreadable):
        number(raw)  # type: ignore[arg-type]


def test_a_named_value_keeps_text_that_a_number_would_lose() -> None:
    assert [text("007"), text("12"), text("0x1"), text(""), text("eth42")] == ["007", 12, "0x1", "", "eth42"]


def test_a_flag_is_read_in_any_dress() -> None:
    assert [flag("true"), flag("FALSE"), flag(True), flag(0)] == [1, 0, 1, 0]
    with pytest.raises(Unreadable):
        flag("maybe")


def test_a_state_becomes_its_code_and_an_unknown_word_is_no_state() -> None:
    read, is_number = reader(counter_table("sonic").find("PFC_WD_STATUS"))
    assert (read("operational"), read("stormed"), is_number) == (0, 1, True)
    with pytest.raises(Unreadable):
        read("resting")


def test_a_speed_identity_becomes_gigabits() -> None:
    assert [gbps("400G"), gbps("1T"), gbps(400_000), gbps(0)] == [400.0, 1000.0, 400.0, None]
    assert [gbps("SPEED_400GB"), gbps("SPEED_100MB"), gbps("SPEED_UNKNOWN"), gbps(None)] == [400.0, 0.1, None, None]
