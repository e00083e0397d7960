"""What must hold of every parser, whatever bytes it is given."""

import pkgutil
from collections.abc import Hashable
from importlib import import_module
from pathlib import Path
from typing import Any

from collectors.contract.topics import COLLECTOR_TOPICS
from tests.fuzz.parser import Parser

_TOPICS = {topic.name: topic for topic in COLLECTOR_TOPICS}


def parsers() -> list[Parser]:
    """The parsers of every module in this folder."""
    modules = sorted(m.name for m in pkgutil.iter_modules([str(Path(__file__).parent)]))
    found = [import_module(f"tests.fuzz.{name}") for name in modules if not name.startswith(("test_", "__"))]
    return [parser for module in found for parser in getattr(module, "PARSERS", ())]


def hold(parser: Parser, data: bytes) -> Any:
    """Parse; what was published reads back from the wire as it was. NaN, infinities and odd text do not."""
    result = parser.parse(data)
    # A collector goes on after an exception that nobody foresaw; here it is what is looked for.
    defects = [why for _, _, why in getattr(result, "rejected", ()) if "defect: " in why]
    assert not defects, f"{parser.name}: {defects[0]}"
    for name, message in getattr(result, "published", ()):
        topic = _TOPICS[name]
        wire = topic.encode(message)
        assert topic.decode(wire) == message, f"{parser.name}: {name} does not read back: {wire[:300]!r}"
    return result


def numbers(parser: Parser, result: Any) -> dict[Hashable, float]:
    """The numbers of a result that are known."""
    assert parser.numbers is not None
    return {place: value for place, value in parser.numbers(result).items() if value is not None}


def hold_cut(parser: Parser, seed: bytes, at: int) -> None:
    """An input that ends early gives no number that the whole one gives otherwise."""
    whole, cut = numbers(parser, hold(parser, seed)), numbers(parser, hold(parser, seed[:at]))
    wrong = {place: (value, whole.get(place)) for place, value in cut.items() if whole.get(place) != value}
    assert not wrong, (
        f"{parser.name}: cut after {at} of {len(seed)} bytes, (cut, whole): {dict(list(wrong.items())[:5])}"
    )
