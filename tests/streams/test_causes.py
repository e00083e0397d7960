import ast
from pathlib import Path

import pytest

from streams.causes import UNKNOWN, cause_row, causes, runbook
from streams.detectors.throttle_causes import WHY

ROOT = Path(__file__).parents[2]
PAGES = {p.stem: p.read_text() for p in (ROOT / "docs/runbooks").glob("*.md") if p.stem != "README"}


def _named_in_code() -> set[str]:
    """Every literal that some detector hands over as `cause=`."""
    words = {why.cause for why in WHY.values()}
    for path in (ROOT / "streams").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.keyword) and node.arg == "cause" and isinstance(node.value, ast.Constant):
                words.add(str(node.value.value))
    return words


def test_every_cause_has_its_page_and_every_page_a_cause() -> None:
    assert {row.runbook for row in causes().values()} | {UNKNOWN.runbook} == set(PAGES)


def test_every_word_that_a_detector_names_has_a_row() -> None:
    assert {word for word in _named_in_code() if cause_row(word) is UNKNOWN} == set()


def test_every_runbook_is_in_the_index() -> None:
    index = (ROOT / "docs/runbooks/README.md").read_text()
    assert [page for page in sorted(PAGES) if f"- [{page}]({page}.md): " not in index] == []


@pytest.mark.parametrize("page", sorted(PAGES))
def test_every_runbook_says_what_to_do_and_when_it_is_over(page: str) -> None:
    assert "\n1. " in PAGES[page]
    assert "Over when: " in PAGES[page]


def test_a_code_without_a_row_has_that_of_its_family() -> None:
    assert runbook("xid_79") == "docs/runbooks/xid_79.md"
    assert runbook("xid_62") == "docs/runbooks/xid.md"
    assert runbook("sxid_12028") == "docs/runbooks/sxid.md"
    assert runbook("something_new") == "docs/runbooks/general.md"


def test_there_is_always_an_action_and_somebody_to_act() -> None:
    for row in causes().values():
        assert row.action
        assert row.owner in ("fleet", "network", "telemetry", "job")


def test_a_report_weighs_nothing() -> None:
    assert cause_row("imbalance_stage").weight("info") == 0
    assert cause_row("xid_48").weight("critical") > cause_row("xid_48").weight("warning")
