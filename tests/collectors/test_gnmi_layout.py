"""JSON objects that come again: what the quick way reads is what the slow way reads."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.contract.fabric import PortScrape
from collectors.gnmi import wire
from collectors.gnmi.decoder import Decoder
from collectors.gnmi.layout import Layouts
from collectors.gnmi.path import GnmiPath, parse_path, write_path

S = 1_000_000_000
T0 = 1_700_000_000 * S
ALL = "COUNTERS/Ethernet*"
IN, OUT = "SAI_PORT_STAT_IF_IN_OCTETS", "SAI_PORT_STAT_IF_OUT_OCTETS"

NUMBERS = (
    *('"5"', '"0"', '"-7"', '"18446744073709551615"', '"9007199254740993"', '"9223372036854775808"'),
    *("5", "0", "-7", "18446744073709551615", "9007199254740993", "36893488147419103232", "1.5", "1e3", "2.0"),
    *('"1.5"', '"1e3"', '"2.0"', '"9007199254740993.0"', '"1e16"', '"-0"', '"0.0"', '"1e400"', "-0.0", "1e18"),
)
OTHERS = (
    *('"N/A"', '""', "null", "true", "false", '"true"', "[1,2]", "[]", "{}", '{"x":"1"}', '[{"name":"a","x":"1"}]'),
    *('"+5"', '" 5"', '"007"', '"1_0"', '"\\u0035"', '"５"', '"NaN"', '"inf"', '"up"', '"0x10"', '"5\\n"'),
    *(f'"{"9" * 40}"', "9" * 40, f'"{"9" * 5000}"'),
)
FIELDS = (IN, OUT, "SAI_PORT_STAT_PFC_3_RX_PKTS", "SAI_PORT_STAT_IP_IN_OCTETS", "oper_status", "NEW", 'with "quote"')

Fields = dict[str, str]
"""Key -> the bytes of its value."""


def text(held: dict[str, Any]) -> bytes:
    inner = ((key, text(value) if isinstance(value, dict) else value.encode()) for key, value in held.items())
    return b"{" + b",".join(msgspec.json.encode(key) + b":" + value for key, value in inner) + b"}"


def sent(ts_ns: int, raw: bytes, path: str = ALL, *, target: str = "COUNTERS_DB") -> bytes:
    out = wire.SubscribeResponse()
    out.update.timestamp = ts_ns
    out.update.prefix = write_path(GnmiPath(target=target))
    out.update.update.add(path=write_path(parse_path(path))).val.json_ietf_val = raw
    return bytes(out.SerializeToString())


def both(**options: Any) -> tuple[Decoder, Decoder]:
    """One that makes layouts, one that reads everything the slow way."""
    made = {"interval_us": 1_000_000, **options}
    return Decoder("leaf1", **made), Decoder("leaf1", layouts=Layouts(most_keys=-1), **made)


def told(decoder: Decoder, raws: Sequence[bytes]) -> list[PortScrape | None]:
    return [*(decoder.feed(raw) for raw in raws), decoder.cut()]


def exact(scrapes: Sequence[PortScrape | None]) -> str:
    """1 and 1.0 are two."""
    return repr(scrapes)


def same(raws: Sequence[bytes], **options: Any) -> list[PortScrape | None]:
    quick, slow = both(**options)
    scrapes = told(quick, raws)
    assert exact(scrapes) == exact(told(slow, raws))
    assert (quick.late, quick.taken) == (slow.late, slow.taken)
    return scrapes


values = st.sampled_from(NUMBERS) | st.sampled_from(OTHERS)
steps = st.lists(
    st.tuples(
        st.integers(-1, 2),
        st.dictionaries(st.tuples(st.integers(0, 2), st.sampled_from(FIELDS)), values | st.none(), max_size=3),
        st.booleans(),
        st.sampled_from((ALL, ALL, ALL, "COUNTERS/Ethernet4", "COUNTERS/*")),
    ),
    min_size=2,
    max_size=12,
)


def streamed(first: Fields, changes: list[Any]) -> list[bytes]:
    """Three ports of the same fields, changed step by step: a value, or None for a key that goes."""
    held: dict[str, dict[str, str]] = {f"Ethernet{4 * n}": dict(first) for n in range(3)}
    ts, out = T0, [sent(T0, text(held))] * 2
    for seconds, changed, turned, path in changes:
        ts += seconds * S
        for (port, field), value in changed.items():
            fields = held[f"Ethernet{4 * port}"]
            if value is None:
                fields.pop(field, None)
            else:
                fields[field] = value
        if turned:
            held = dict(reversed(held.items()))
        out.append(sent(ts, text(held["Ethernet4"] if path.endswith("4") else held), path))
    return out


@settings(deadline=None, max_examples=300)
@given(st.dictionaries(st.sampled_from(FIELDS), st.sampled_from(NUMBERS), max_size=5), steps, st.booleans())
def test_a_stream_of_objects_makes_the_same_scrapes_either_way(first: Fields, changes: Any, keep: bool) -> None:
    same(streamed(first, changes), keep_ignored=keep)


@pytest.mark.parametrize("value", NUMBERS + OTHERS)
@pytest.mark.parametrize("first", ['"5"', "5"])
def test_a_value_of_any_form_is_read_the_same_in_place_of_a_number(first: str, value: str) -> None:
    seen = [{"Ethernet0": {IN: v, OUT: '"3"'}} for v in (first, first, first, value, first, value, value, first)]
    same([sent(T0 + n * S, text(held)) for n, held in enumerate(seen)])
