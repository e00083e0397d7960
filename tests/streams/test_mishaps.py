"""A detector that raises is set back for its key, said once, and holds up nobody."""

import re
from collections.abc import Sequence

import pytest

from collectors.contract.gpu import GpuScrape
from collectors.contract.message import Message
from collectors.contract.topics import GPU_SCRAPES
from streams.bank import Bank
from streams.contract import Finding
from streams.detector import Tick
from streams.mishaps import Mender
from tests.streams.toy import HotDetector, HotState, scrape

POISON = 666.0
"""Nobody can judge it."""
N1 = GPU_SCRAPES.key(scrape("n1", 0, []))


class FragileDetector(HotDetector):
    """Raises on one temperature, after it changed its state; on every message once `bad` is among what is open."""

    name = "fragile"

    def step(self, state: HotState, batch: Sequence[Message | Tick]) -> tuple[HotState, list[Finding]]:
        if "bad" in state.open:
            raise KeyError("bad")
        state, found = super().step(state, batch)
        if any(POISON in m.columns["150"] for m in batch if isinstance(m, GpuScrape)):
            state.open.clear()
            raise ZeroDivisionError("division by zero")
        return state, found


def mended(kept: dict[str, bytes], counted: list[str]) -> tuple[Bank, Mender]:
    bank = Bank([FragileDetector(), HotDetector()])
    mender = Mender(lambda slot: kept.get(f"{slot.detector.name}|{slot.key}"), bank.standing, counted.append)
    bank.mend = mender.mend
    return bank, mender


def told(findings: Sequence[Finding]) -> list[tuple[str, str]]:
    return [(f.subject.id, f.state) for f in findings]


def test_a_message_that_one_detector_cannot_judge_is_passed_over_by_it_alone() -> None:
    kept, counted = dict[str, bytes](), list[str]()
    bank, mender = mended(kept, counted)
    assert told(bank.feed(GPU_SCRAPES, scrape("n1", 1, [95.0, 50.0]))) == [("n1-0", "opened")] * 2
    kept[f"fragile|{N1}"] = b'{"n1-0":1}'
    assert told(bank.feed(GPU_SCRAPES, scrape("n1", 2, [95.0, POISON]))) == [("n1-1", "opened")]
    assert told(bank.feed(GPU_SCRAPES, scrape("n2", 2, [95.0]))) == [("n2-0", "opened")] * 2
    assert counted == ["fragile"]
    (mishap,) = mender.take()
    assert (mishap.detector, mishap.message) == ("fragile", scrape("n1", 2, [95.0, POISON]))
    line = r"tests\.streams\.test_mishaps:\d+"
    assert re.fullmatch(rf"detector fragile, default/n1: ZeroDivisionError: division by zero \({line}\)", mishap.why)
    assert mender.take() == []


def test_what_was_open_before_the_mishap_still_ends() -> None:
    kept = {f"fragile|{N1}": b'{"n1-0":1}'}
    bank, _ = mended(kept, [])
    bank.feed(GPU_SCRAPES, scrape("n1", 1, [95.0]))
    bank.feed(GPU_SCRAPES, scrape("n1", 2, [POISON]))
    ended = bank.feed(GPU_SCRAPES, scrape("n1", 3, [50.0]))
    assert [(f.state, f.episode_us) for f in ended] == [("cleared", 1)] * 2


def test_a_state_that_went_bad_is_replaced_and_the_message_is_judged() -> None:
    bank, mender = mended({}, [])
    slot = bank.put(bank.detectors[0], N1, HotState(open={"bad": 1}))
    assert told(bank.feed(GPU_SCRAPES, scrape("n1", 2, [95.0]))) == [("n1-0", "opened")] * 2
    assert slot.state.open == {"n1-0": 2}
    (mishap,) = mender.take()
    assert mishap.why.startswith("detector fragile, default/n1: KeyError: 'bad'")


def test_a_kept_state_that_is_itself_bad_gives_way_to_a_fresh_one() -> None:
    bank, _ = mended({f"fragile|{N1}": b'{"bad":1}'}, [])
    slot = bank.put(bank.detectors[0], N1, HotState(open={"bad": 1}))
    assert told(bank.tick(5)) == []
    assert slot.state.open == {}


def test_bytes_that_cannot_be_restored_give_way_to_a_fresh_state() -> None:
    bank, _ = mended({f"fragile|{N1}": b"not json"}, [])
    bank.put(bank.detectors[0], N1, HotState(open={"bad": 1}))
    assert told(bank.feed(GPU_SCRAPES, scrape("n1", 2, [95.0]))) == [("n1-0", "opened")] * 2


def test_a_flood_of_mishaps_is_counted_and_its_reports_are_bounded() -> None:
    counted: list[str] = []
    bank, mender = mended({}, counted)
    for at in range(1000):
        bank.feed(GPU_SCRAPES, scrape("n1", at + 1, [POISON]))
    assert (len(counted), len(mender.take())) == (1000, 100)


def test_without_somebody_to_mend_it_the_error_goes_on_its_way() -> None:
    with pytest.raises(ZeroDivisionError):
        Bank([FragileDetector()]).feed(GPU_SCRAPES, scrape("n1", 1, [POISON]))
