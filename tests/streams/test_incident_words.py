from pathlib import Path

from streams.incident_words import OWN_PAGE, action_for, runbook_for

ROOT = Path(__file__).parents[2]


def test_the_pages_are_the_files() -> None:
    files = {p.stem for p in (ROOT / "docs/runbooks").glob("*.md")} - {"README"}
    assert files == OWN_PAGE


def test_every_runbook_says_what_to_do_and_when_it_is_over() -> None:
    for page in (ROOT / "docs/runbooks").glob("*.md"):
        text = page.read_text()
        if page.stem != "README":
            assert "\n1. " in text, page
            assert "Over when: " in text, page


def test_a_code_without_a_page_has_the_page_of_its_kind() -> None:
    assert runbook_for("xid_79", "xid") == "docs/runbooks/xid_79.md"
    assert runbook_for("xid_48", "xid") == "docs/runbooks/xid.md"
    assert runbook_for("sxid_12028", "xid") == "docs/runbooks/sxid.md"
    assert runbook_for("something_new", "throttle") == "docs/runbooks/throttle.md"
    assert runbook_for("something_new", "new") == "docs/runbooks/general.md"


def test_there_is_always_an_action() -> None:
    assert all(action_for(word, "") for word in OWN_PAGE)
