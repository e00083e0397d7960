"""BER, object identifiers, values and PDUs: what is believed of bytes that came."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.fabric.cell import Cell
from collectors.fabric.reading import number as as_number
from collectors.fabric.series import Series
from collectors.snmp import oid
from collectors.snmp.ber import OCTETS, OID, SEQUENCE, BerError, element, header, integer, number
from collectors.snmp.fill import fill
from collectors.snmp.pdu import FIRST_ID, GETBULK, LAST_ID, get, get_bulk, read_pdu
from collectors.snmp.value import Absent, Varbind, read_value, read_varbinds
from tests.collectors.snmp_agent import counter32, counter64, response, text, ticks, whole


def bind(dotted: str, value: bytes) -> bytes:
    return element(SEQUENCE, element(OID, oid.encode(dotted)), value)


@given(st.integers(-(2**63), 2**63 - 1))
def test_a_whole_number_comes_back(value: int) -> None:
    raw = number(value)
    assert integer(raw, 0, len(raw)) == (value, len(raw))


@given(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=60), st.integers(0, 2), st.integers(0, 39))
def test_an_object_identifier_comes_back(rest: list[int], first: int, second: int) -> None:
    numbers = (first, second, *rest)
    assert oid.unpack(oid.pack(numbers)) == numbers


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"\x30", "cut off"),
        (b"\x30\x80\x00\x00", "indefinite"),
        (b"\x30\x05\x00", "beyond the end"),
        (b"\x30\x84\xff\xff\xff\xff", "beyond the end"),
        (b"\x30\x85\x00\x00\x00\x00\x01\x00", "more than four"),
        (b"\x1f\x81\x01\x00", "many bytes"),
        (b"\x30\x82\x01", "beyond the end"),
    ],
)
def test_a_header_that_lies_is_refused(raw: bytes, why: str) -> None:
    with pytest.raises(BerError, match=why):
        header(raw, 0, len(raw))


def test_a_number_of_ten_bytes_is_refused() -> None:
    with pytest.raises(BerError, match="10 bytes"):
        integer(element(2, b"\x01" * 10), 0, 12)


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (counter64(2**64 - 1), 2**64 - 1),
        (counter32(2**32 - 1), 2**32 - 1),
        # Agents that forget the zero before a high bit: a counter is never negative.
        (element(0x41, b"\xff\xff\xff\xff"), 2**32 - 1),
        (element(0x46, b"\xff" * 8), 2**64 - 1),
        (ticks(5), 5),
        (whole(-40), -40),
        (text("eth0"), b"eth0"),
        (element(0x40, b"\x7f\x00\x00\x01"), b"\x7f\x00\x00\x01"),
        (element(0x44, b"\x9f\x78\x04" + struct.pack(">f", 0.5)), 0.5),
        (element(0x44, b"\x9f\x79\x08" + struct.pack(">d", -2.25)), -2.25),
        (element(0x44, b"\x01\x02"), b"\x01\x02"),
        (element(OID, oid.encode("1.3.6.1.4.1")), (1, 3, 6, 1, 4, 1)),
        (b"\x80\x00", Absent.OBJECT),
        (b"\x81\x00", Absent.INSTANCE),
        (b"\x82\x00", Absent.END),
        (b"\x05\x00", None),
    ],
)
def test_every_type_of_value_is_read(raw: bytes, value: object) -> None:
    assert read_value(raw, 0, len(raw)) == (value, len(raw))


@pytest.mark.parametrize(
    "raw", [element(0x41, b""), element(0x41, b"\x01" * 5), element(0x47, b"\x01" * 9), b"\x31\x00"]
)
def test_a_value_that_cannot_be_is_refused(raw: bytes) -> None:
    with pytest.raises(BerError):
        read_value(raw, 0, len(raw))


def test_a_request_is_as_long_whatever_its_id() -> None:
    request = get_bulk([oid.encode("1.3.6.1.2.1.2.2.1.10")], 10)
    assert len(request.write(FIRST_ID)) == len(request.write(LAST_ID))
    kind, start, stop = header(request.write(FIRST_ID), 0, len(request.write(FIRST_ID)))
    assert (kind, integer(request.write(FIRST_ID), start, stop)[0]) == (GETBULK, FIRST_ID)


def test_a_request_is_no_answer() -> None:
    raw = get([oid.encode("1.3.6.1")]).write(FIRST_ID)
    with pytest.raises(BerError, match="no answer"):
        read_pdu(raw, 0, len(raw))


def cell() -> Cell:
    return Cell(Series("Ethernet1", "x"), as_number)


def filled(binds: bytes, names: dict[bytes, Cell]) -> tuple[int, list[Varbind]]:
    other: list[Varbind] = []
    return fill(binds, 0, len(binds), names, (1, 1), other.append), other


OCTETS_IN, NAME = "1.3.6.1.2.1.31.1.1.1.6.1", "1.3.6.1.2.1.31.1.1.1.1.1"


def test_counters_go_straight_into_their_cells_and_the_rest_to_the_other_hand() -> None:
    wide, narrow, top = cell(), cell(), cell()
    names = {oid.encode(f"1.3.6.1.4.1.9.{n}"): one for n, one in ((1, wide), (2, narrow), (3, top))}
    binds = bind("1.3.6.1.4.1.9.1", counter64(2**40)) + bind(NAME, text("eth0"))
    binds += bind("1.3.6.1.4.1.9.2", counter32(0)) + bind("1.3.6.1.4.1.9.3", counter64(2**64 - 1))
    count, other = filled(binds, names)
    assert (count, wide.value, narrow.value, wide.stamp) == (4, 2**40, 0, (1, 1))
    # Nine bytes are no hurry.
    assert other == [
        Varbind(oid.encode(NAME), b"eth0"),
        Varbind(oid.encode("1.3.6.1.4.1.9.3"), 2**64 - 1),
    ]


@pytest.mark.parametrize("absent", [b"\x80\x00", b"\x81\x00", b"\x82\x00"])
def test_an_absent_value_is_never_zero(absent: bytes) -> None:
    held = cell()
    _, other = filled(bind(OCTETS_IN, absent), {oid.encode(OCTETS_IN): held})
    assert held.value is None and held.stamp == (0, 0)
    assert isinstance(other[0].value, Absent)


def test_the_hot_loop_reads_what_the_careful_one_reads() -> None:
    values = [counter32(n * 7919 % 2**32) for n in range(50)] + [counter64(3**n) for n in range(40)]
    names = [f"1.3.6.1.2.1.2.2.1.10.{n}" for n in range(len(values))]
    binds = b"".join(map(bind, names, values))
    cells = {oid.encode(name): cell() for name in names}
    _, other = filled(binds, cells)
    slow = dict(read_varbinds(binds, 0, len(binds)))
    fast = {name: one.value for name, one in cells.items() if one.value is not None} | dict(other)
    assert fast == slow


@given(st.data())
def test_a_cut_off_list_yields_no_number_that_was_not_there(data: st.DataObject) -> None:
    names = [f"1.3.6.1.2.1.2.2.1.10.{n}" for n in range(6)]
    binds = b"".join(bind(name, counter64(10**n + 77)) for n, name in enumerate(names))
    cut = binds[: data.draw(st.integers(0, len(binds) - 1))]
    cells = {oid.encode(name): cell() for name in names}
    try:
        filled(cut, cells)
    except BerError as why:
        assert "cut off" in str(why) or "beyond the end" in str(why)
    for n, name in enumerate(names):
        assert cells[oid.encode(name)].value in (None, 10**n + 77)


def test_a_list_that_ends_in_a_header_is_refused() -> None:
    binds = bind(OCTETS_IN, counter64(5))
    with pytest.raises(BerError):
        filled(binds + b"\x30", {oid.encode(OCTETS_IN): cell()})


def test_an_answer_tells_its_error_in_the_agents_word() -> None:
    raw = response(FIRST_ID, 5, [])
    answer = read_pdu(raw, 0, len(raw))
    assert (answer.error, answer.request_id) == ("genErr", FIRST_ID)
    odd = response(FIRST_ID, 77, [])
    assert read_pdu(odd, 0, len(odd)).error == "error 77"


def test_octets_stay_bytes() -> None:
    raw = element(OCTETS, b"\x00\xff")
    assert read_value(raw, 0, len(raw))[0] == b"\x00\xff"
