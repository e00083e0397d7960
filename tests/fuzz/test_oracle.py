"""The oracle sees what it is there for."""

import random
from pathlib import Path

import pytest

from collectors.contract.fabric import Port, PortScrape
from collectors.contract.topics import FABRIC_SCRAPES
from tests.collectors.list_outlet import ListOutlet
from tests.fuzz.child import _by_chance
from tests.fuzz.mutate import mutate
from tests.fuzz.oracle import hold, hold_cut
from tests.fuzz.parser import Parser


def scrape_of(value: float) -> ListOutlet:
    outlet = ListOutlet()
    scrape = PortScrape(cluster="c", ts_us=1, device="d", ports=[Port(name="p")], columns={"x": [value]})
    outlet.publish(FABRIC_SCRAPES, scrape)
    return outlet


def test_a_number_that_the_wire_cannot_carry_is_found() -> None:
    hold(Parser("fine", (b"",), lambda raw: scrape_of(1.5)), b"")
    with pytest.raises(AssertionError, match="does not read back"):
        hold(Parser("nan", (b"",), lambda raw: scrape_of(float("nan"))), b"")


def test_a_number_cut_in_two_is_found() -> None:
    parser = Parser("naive", (b"12345",), lambda raw: int(raw or b"0"), lambda n: {"n": n})
    with pytest.raises(AssertionError, match=r"cut after 3 of 5 bytes"):
        hold_cut(parser, b"12345", 3)


def test_what_breaks_a_parser_is_kept(tmp_path: Path) -> None:
    assert _by_chance(Parser("strict", (b"12345",), int), 5.0, tmp_path) == 1
    (kept,) = tmp_path.iterdir()
    with pytest.raises(ValueError):
        int(kept.read_bytes())


def test_damage_is_bounded_and_the_same_for_the_same_seed() -> None:
    assert mutate(b"abc" * 99, b"x", random.Random(7)) == mutate(b"abc" * 99, b"x", random.Random(7))
    assert len(mutate(b"a" * 5000, b"b" * 5000, random.Random(1), most=100)) <= 100
