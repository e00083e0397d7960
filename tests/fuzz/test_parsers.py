"""Every parser takes damaged bytes without an exception, and a cut input never gives a wrong number."""

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.mutate import mutate
from tests.fuzz.oracle import hold, hold_cut, numbers, parsers
from tests.fuzz.parser import Parser

PARSERS = {parser.name: parser for parser in parsers()}
MOST_CUTS = 60
every = pytest.mark.parametrize("parser", PARSERS.values(), ids=PARSERS.keys())


def test_names_of_parsers_are_unique() -> None:
    assert len(PARSERS) == len(parsers())


@every
def test_every_seed_is_read_and_says_something(parser: Parser) -> None:
    assert parser.seeds, "a parser without a seed is hardly fuzzed"
    for seed in parser.seeds:
        result = hold(parser, seed)
        if parser.numbers is not None:
            assert numbers(parser, result), f"no number in the seed {seed[:200]!r}"


@every
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(which=st.randoms(use_true_random=False))
def test_damaged_input_raises_nothing(parser: Parser, which: random.Random) -> None:
    seed, other = which.choice(parser.seeds), which.choice(parser.seeds)
    hold(parser, mutate(seed, other, which))


@every
@settings(max_examples=15, deadline=None)
@given(data=st.binary(max_size=200))
def test_any_bytes_raise_nothing(parser: Parser, data: bytes) -> None:
    hold(parser, data)


@pytest.mark.parametrize(
    "parser", [p for p in PARSERS.values() if p.numbers is not None], ids=[n for n in PARSERS if PARSERS[n].numbers]
)
def test_a_cut_input_gives_no_wrong_number(parser: Parser) -> None:
    for seed in parser.seeds:
        step = max(1, len(seed) // MOST_CUTS)
        for at in {*range(0, len(seed), step), *range(max(0, len(seed) - 5), len(seed))}:
            hold_cut(parser, seed, at)
