import ast
import re
from pathlib import Path

import pytest

from streams.catalog import ACTIONS
from streams.causes import UNKNOWN, cause_row, causes, runbook
from streams.detectors.throttle_causes import WHY

ROOT = Path(__file__).parents[2]
PAGES = {p.stem: p.read_text() for p in (ROOT / "docs/runbooks").glob("*.md") if p.stem != "README"}
XID_PAGE = " ".join(PAGES["xid"].split())


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


def test_every_runbook_is_in_the_index_under_its_title() -> None:
    index = (ROOT / "docs/runbooks/README.md").read_text()
    rows = re.findall(r"^- \[(\w+)\]\((\w+)\.md\): (.+)$", index, re.MULTILINE)
    assert rows == [(page, page, PAGES[page].splitlines()[0].removeprefix("# ")) for page in sorted(PAGES)]


@pytest.mark.parametrize("page", sorted(PAGES))
def test_every_runbook_says_how_to_confirm_what_to_do_when_it_is_over_and_whose_it_is(page: str) -> None:
    parts = re.fullmatch(
        r"# (?P<title>.+)\n\n(?P<meaning>.+)\n\nConfirm: (?P<confirm>.+?)\n\n(?P<steps>1\. .+)\n\n"
        r"Over when: (?P<over>.+)\n\nOwner: (?P<owner>.+)\.\n",
        PAGES[page],
        re.DOTALL,
    )
    assert parts is not None
    assert parts["confirm"].count("`") >= 2  # a command, not advice
    assert PAGES[page].count("\n\n") == 5
    owners = {row.owner for row in causes().values() if row.runbook == page} or {UNKNOWN.owner}
    assert set(re.findall(r"\b(fleet|network|telemetry|job)\b", parts["owner"])) == owners


def test_the_page_of_the_codes_quotes_what_an_action_line_asks_for() -> None:
    assert [ACTIONS[b] for b in ("reset_gpu", "reboot_node", "drain_and_diagnose") if ACTIONS[b] not in XID_PAGE] == []


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
