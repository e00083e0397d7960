"""Pickles that mean harm are refused, at no cost."""

import os
import pickle
import pickletools
import tracemalloc
from collections import OrderedDict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.flight_recorder.bounds import Bounds, CutError, DumpError, HostileError
from collectors.flight_recorder.unpickle import load

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 63), (1 << 63) - 1) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text() | st.integers(0, 9), inner),
    max_leaves=20,
)


class Runs:
    """What a hostile job would put into its dump."""

    def __reduce__(self) -> Any:
        return os.system, ("touch /tmp/never",)


@given(PLAIN, st.integers(2, 5))
def test_plain_values_come_back(value: Any, protocol: int) -> None:
    assert load(pickle.dumps(value, protocol=protocol)) == value


def test_shared_values_stay_shared() -> None:
    shared = {"name": "f"}
    found = load(pickle.dumps([shared, shared], protocol=2))
    assert found[0] is found[1]


@pytest.mark.parametrize("protocol", [1, 2, 3, 4, 5])
def test_a_call_is_refused_and_named(protocol: int) -> None:
    with pytest.raises(HostileError, match=r"asks for (posix|nt).system"):
        load(pickle.dumps({"entries": [Runs()]}, protocol=protocol))


@pytest.mark.parametrize("value", [OrderedDict(a=1), {1, 2}, bytearray(b"x"), complex(1, 2), range(3), Runs, print])
def test_everything_that_is_not_plain_is_refused(value: Any) -> None:
    for protocol in (2, 4, 5):
        with pytest.raises(DumpError):
            load(pickle.dumps(value, protocol=protocol))


@pytest.mark.parametrize(
    "name",
    [
        "GLOBAL",
        "INST",
        "OBJ",
        "NEWOBJ",
        "NEWOBJ_EX",
        "REDUCE",
        "BUILD",
        "PERSID",
        "BINPERSID",
        "EXT1",
        "EXT2",
        "EXT4",
        "STACK_GLOBAL",
    ],
)
def test_no_opcode_that_reaches_outside_is_carried_out(name: str) -> None:
    [code] = [op.code for op in pickletools.opcodes if op.name == name]
    with pytest.raises(HostileError):
        load(b"\x80\x04" + b"K\x01K\x02" + code.encode("latin-1") + b"os\nsystem\n" + b".")


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"\x80\x02X\xff\xff\xff\x7fabc", "a length of 2147483647 bytes"),
        (b"\x80\x04\x8e" + b"\xff" * 8, "a length of 18446744073709551615 bytes"),
        (b"\x80\x02\x8b\xff\xff\xff\x7f", "a number of 2147483647 bytes"),
        (b"\x80\x02\x8a\x11" + b"\x01" * 17 + b".", "a number of 17 bytes"),
        (b"\x80\x02)" + b"\x85" * 40 + b".", "more than 32 deep"),
        (b"\x80\x02" + b"(" * 40, "more than 32 open lists"),
        (b"\x80\x02}]K\x01s.", "a key that is neither text nor a number"),
        (b"\x80\x02})K\x01s.", "a key that is neither text nor a number"),
        (b"\x80\x02}K\x01s.", "no dict to fill"),
        (b"\x80\x02}(K\x01u.", "a key that is neither"),
        (b"\x80\x02K\x01K\x02a.", "no list to fill"),
        (b"\x80\x02K\x01K\x02K\x03s.", "no dict to fill"),
        (b"\x80\x02e.", "no list is open"),
        (b"\x80\x02h\x05.", "recalls what was not remembered"),
        (b"\x80\x02j\x05\x00\x00\x00......", "recalls what was not remembered"),
        (b"\x80\x02q\x01.", "nothing to remember"),
        (b"\x80\x02K\x01K\x02.", "does not leave one value"),
        (b"\x80\x02.", "does not leave one value"),
        (b"\x80\x09N.", "pickle protocol 9"),
        (b"(lp0\n.", "opcode 0x6c is not one of a dump"),
    ],
)
def test_a_broken_pickle_says_where(raw: bytes, why: str) -> None:
    with pytest.raises(DumpError, match=why):
        load(raw)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\x80",
        b"\x80\x02",
        b"\x80\x02K",
        b"\x80\x02M\x01",
        b"\x80\x02\x8a\x08\x01",
        b"\x80\x02h",
        b"\x80\x02j\x00",
        b"\x80\x02X\x05\x00\x00\x00ab",
        b"\x80\x02]q",
    ],
)
def test_a_cut_pickle_is_known_to_be_cut(raw: bytes) -> None:
    with pytest.raises(CutError, match=f"cut off after {len(raw)} bytes"):
        load(raw)


def peak_of(raw: bytes, bounds: Bounds = Bounds()) -> int:  # noqa: B008 (frozen)
    tracemalloc.start()
    try:
        with pytest.raises(DumpError):
            load(raw, bounds)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_huge_index_of_the_memo_takes_no_memory() -> None:
    assert peak_of(b"\x80\x02]r\xff\xff\xff\xff") < 1 << 20


def test_a_file_of_empty_lists_ends_at_a_bound() -> None:
    assert peak_of(b"\x80\x02" + b"]" * 1_000_000, Bounds(containers=10_000)) < 4 << 20


@pytest.mark.parametrize(
    ("bounds", "raw"),
    [
        (Bounds(opcodes=100), b"\x80\x02" + b"N" * 200 + b"."),
        (Bounds(memo=100), b"\x80\x04N" + b"\x94" * 200 + b"."),
        (Bounds(bytes=100), b"\x80\x02X\xc8\x00\x00\x00" + b"x" * 200 + b"."),
    ],
)
def test_every_bound_holds(bounds: Bounds, raw: bytes) -> None:
    with pytest.raises(DumpError, match=r"more than|too much"):
        load(raw, bounds)


def test_lists_that_grow_by_doubling_are_read_without_growing() -> None:
    level = b"\x80\x04]\x94"
    for index in range(25):
        level += b"](" + b"h" + bytes([index]) + b"h" + bytes([index]) + b"e\x94"
    value = pickle_of_last(level)
    for _ in range(25):
        assert value[0] is value[1]
        value = value[0]


def pickle_of_last(raw: bytes) -> Any:
    """The lists of before are on the stack too: they go into a tuple of which the last is taken."""
    return load(raw[:2] + b"(" + raw[2:] + b"t.")[-1]
