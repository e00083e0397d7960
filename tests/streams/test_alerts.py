import asyncio
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from collectors.contract.settings import SettingError
from streams.alert_labels import Links, dedup_key, labels_of
from streams.alert_payload import payload
from streams.alertmanager import addresses
from streams.alerts import AlertBook, AlertLimits, AlertRow, pages
from streams.alerts_file import AlertsFile
from streams.contract import Evidence, Incident, Subject

S = 1_000_000
T0 = 1_800_000_000 * S


def told(**more: Any) -> Incident:
    """A throttling GPU with a job on it, as first told."""
    fields: dict[str, Any] = {
        "ts_us": T0,
        "id": "inc-1",
        "state": "opened",
        "severity": "critical",
        "cause": "throttle|default/gpu/G1|1",
        "cause_word": "thermal_throttle",
        "detector": "throttle",
        "subject": Subject(kind="gpu", id="G1", node="n1", gpu_uuid="G1", gpu_index=3),
        "opened_us": T0 - 5 * S,
        "jobs": ["train"],
        "summary": "hot",
        "action": "cool it",
        "runbook": "docs/runbooks/thermal_throttle.md",
        "evidence": [Evidence(what="temperature", value=95.0, unit="C")],
    }
    return Incident(**{**fields, **more})


def test_all_values_are_strings_and_none_is_empty() -> None:
    book = AlertBook()
    alert = book.learn(told(jobs=[]))
    assert alert is not None
    sent = payload(alert, AlertLimits(), T0, Links())
    assert all(isinstance(v, str) and v for part in ("labels", "annotations") for v in sent[part].values())
    assert "jobs" not in sent["annotations"]


def test_the_labels_name_the_part_and_no_count_or_time() -> None:
    assert labels_of(told()) == {
        "alertname": "ThermalThrottle",
        "cluster": "default",
        "incident": "inc-1",
        "detector": "throttle",
        "owner": "fleet",
        "node": "n1",
        "gpu": "G1",
        "gpu_index": "3",
        "severity": "critical",
        "page": "yes",
    }


def test_an_update_and_a_new_cause_keep_the_labels() -> None:
    book = AlertBook()
    first = book.learn(told())
    assert first is not None
    before = dict(first.labels)
    assert book.learn(told(state="updated", ts_us=T0 + S, cause_word="xid_79", jobs=["a", "b"])) is None
    (alert,) = book.alerts()
    assert alert.labels == before
    assert payload(alert, AlertLimits(), T0, Links())["annotations"]["cause_word"] == "xid_79"


def test_a_ticket_that_becomes_a_page_ends_and_a_page_opens() -> None:
    book = AlertBook()
    ticket = book.learn(told(severity="warning"))
    page = book.learn(told(state="updated", ts_us=T0 + S))
    assert ticket is not None
    assert page is not None
    assert (pages(ticket), ticket.ended_us) == (False, T0 + S)
    assert (pages(page), page.ended_us) == (True, None)


def test_a_page_that_was_a_ticket_is_named_by_the_cause_as_known_then() -> None:
    book = AlertBook()
    book.learn(told(severity="warning", cause_word="link_down", owner="network"))
    assert book.learn(told(severity="warning", state="updated", ts_us=T0 + S, cause_word="node_silent")) is None
    page = book.learn(told(state="updated", ts_us=T0 + 2 * S, cause_word="node_silent"))
    assert page is not None
    assert [(a.labels["alertname"], a.labels["owner"]) for a in book.alerts()] == [
        ("LinkDown", "network"),
        ("NodeSilent", "fleet"),
    ]


def test_an_open_alert_ends_in_five_minutes_unless_sent_again_and_a_cleared_one_has_ended() -> None:
    book = AlertBook()
    alert = book.learn(told())
    assert alert is not None
    assert payload(alert, AlertLimits(), T0, Links())["endsAt"] == "2027-01-15T08:05:00.000000Z"
    book.learn(told(state="cleared", ts_us=T0 + 60 * S))
    assert payload(alert, AlertLimits(), T0 + 90 * S, Links())["endsAt"] == "2027-01-15T08:01:00.000000Z"
    assert payload(alert, AlertLimits(), T0, Links())["startsAt"] == "2027-01-15T07:59:55.000000Z"


def test_the_same_edge_again_and_a_late_one_change_nothing() -> None:
    book = AlertBook()
    book.learn(told())
    book.learn(told(state="cleared", ts_us=T0 + 60 * S))
    assert book.learn(told()) is None
    assert book.learn(told(state="updated", ts_us=T0 + 70 * S)) is None
    assert [a.ended_us for a in book.alerts()] == [T0 + 60 * S]


def test_an_ended_alert_is_forgotten_five_minutes_after_everybody_heard_of_it_and_else_after_a_day() -> None:
    book = AlertBook()
    book.learn(told())
    book.learn(told(state="cleared", ts_us=T0))
    book.forget(T0 + 299 * S, everybody)
    assert len(book.alerts()) == 1
    book.forget(T0 + 24 * 3600 * S, nobody)
    assert len(book.alerts()) == 1
    book.forget(T0 + 301 * S, everybody)
    assert book.alerts() == []
    book.learn(told())
    book.learn(told(state="cleared", ts_us=T0))
    book.forget(T0 + 24 * 3600 * S + 1, nobody)
    assert book.alerts() == []


def everybody(_row: AlertRow) -> bool:
    return True


def nobody(_row: AlertRow) -> bool:
    return False


def test_the_book_survives_its_rows() -> None:
    book, other = AlertBook(), AlertBook()
    book.learn(told(severity="warning"))
    book.learn(told(state="updated", ts_us=T0 + S))
    other.restore({k: v for k, v in book.take_changes().items() if v is not None})
    assert other.rows == book.rows


def test_info_incidents_never_become_alerts() -> None:
    book = AlertBook()
    assert book.learn(told(severity="info")) is None
    assert book.alerts() == []


def write(file: AlertsFile, now_us: int) -> None:
    asyncio.run(file.send_due(now_us))


def test_the_file_holds_each_page_and_each_end_once_whatever_restarts(tmp_path: Path) -> None:
    path = tmp_path / "alerts.jsonl"
    for _ in range(3):
        book = AlertBook()
        book.learn(told())
        file = AlertsFile(book, path, terminal=io.StringIO())
        file.open()
        write(file, T0)
        book.learn(structs.replace(told(), state="cleared", ts_us=T0 + S))
        write(file, T0 + S)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(r["state"], r["page"]) for r in rows] == [("firing", True), ("resolved", True)]


def test_what_is_muted_is_no_end_in_the_file_and_its_end_is_written_though_it_was_muted_then(tmp_path: Path) -> None:
    path, out, book = tmp_path / "alerts.jsonl", io.StringIO(), AlertBook()
    file = AlertsFile(book, path, terminal=out)
    file.open()
    for edge in (
        told(),
        told(state="updated", ts_us=T0 + S, muted_until_us=T0 + 9 * S, muted_by="ann"),
        told(state="cleared", ts_us=T0 + 2 * S, cleared_us=T0 + S, muted_until_us=T0 + 9 * S, muted_by="ann"),
    ):
        book.learn(edge)
        write(file, T0)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert [r["state"] for r in rows] == ["firing", "quiet", "resolved"]
    words = [line.partition(": ")[0] for line in out.getvalue().splitlines()]
    assert words == ["PAGE", "quiet (muted by ann until 2027-01-15 08:00 UTC)", "resolved"]
    (row,) = book.rows.values()
    assert file.is_done(row)


def test_a_line_that_a_crash_cut_spoils_no_other(tmp_path: Path) -> None:
    path = tmp_path / "alerts.jsonl"
    path.write_text('{"state": "firing", "lab')
    book = AlertBook()
    book.learn(told())
    file = AlertsFile(book, path, terminal=io.StringIO())
    file.open()
    write(file, T0)
    assert json.loads(path.read_text().splitlines()[1])["state"] == "firing"


def test_the_terminal_says_page_or_ticket_with_what_to_do(tmp_path: Path) -> None:
    out = io.StringIO()
    book = AlertBook()
    book.learn(told())
    file = AlertsFile(book, tmp_path / "a.jsonl", terminal=out)
    file.open()
    write(file, T0)
    assert out.getvalue() == ("PAGE: ThermalThrottle hot; do: cool it; docs/runbooks/thermal_throttle.md [inc-1]\n")


def test_several_alertmanagers_are_a_comma_list() -> None:
    assert addresses("http://a:9093/, http://b:9093") == ["http://a:9093", "http://b:9093"]


def test_what_is_muted_or_planned_is_no_alert_until_the_mute_ends() -> None:
    for quiet in ({"muted_until_us": T0 + 60 * S, "muted_by": "ann"}, {"planned": "new pumps"}):
        book = AlertBook()
        assert book.learn(told(**quiet)) is None
        assert book.alerts() == []
        alert = book.learn(told(state="updated", ts_us=T0 + 60 * S))
        assert alert is not None
        assert (alert.started_us, alert.ended_us) == (T0 - 5 * S, None)


def test_a_mute_ends_the_alert_and_its_end_opens_the_same_again() -> None:
    book = AlertBook()
    first = book.learn(told())
    assert first is not None
    muted = book.learn(told(state="updated", ts_us=T0 + S, muted_until_us=T0 + 9 * S, muted_by="ann"))
    assert muted is not None
    assert muted.ended_us == T0 + S
    assert (
        "muted by ann until 2027-01-15 08:00 UTC"
        in payload(muted, AlertLimits(), T0, Links())["annotations"]["standing"]
    )
    again = book.learn(told(state="updated", ts_us=T0 + 9 * S))
    assert again is not None
    assert [(a.labels, a.started_us, a.ended_us) for a in book.alerts()] == [(first.labels, T0 + 9 * S, None)]


def test_the_key_is_the_same_whatever_becomes_of_the_incident_and_never_too_long() -> None:
    worse = told(state="updated", severity="critical", cause_word="xid_79", ts_us=T0 + 9 * S)
    assert dedup_key(told(severity="warning")) == dedup_key(worse) == "lockstep/default/inc-1"
    assert len(dedup_key(told(cluster="c" * 400))) == 255


def test_more_incidents_than_fit_cost_the_oldest_tickets_first_and_what_is_over_before_them() -> None:
    book = AlertBook(AlertLimits(most_incidents=3))
    book.learn(told(id="page", ts_us=T0))
    book.learn(told(id="over", ts_us=T0 + S))
    book.learn(told(id="over", ts_us=T0 + 3 * S, state="cleared"))
    book.learn(told(id="old", severity="warning", ts_us=T0 + S))
    book.learn(told(id="new", severity="warning", ts_us=T0 + 2 * S))
    assert sorted(book.rows) == ["default/new", "default/old", "default/page"]
    book.learn(told(id="page-2", ts_us=T0 + 4 * S))
    assert sorted(book.rows) == ["default/new", "default/page", "default/page-2"]
    assert book.take_changes()["default/old"] is None


def test_a_row_stays_small_and_says_how_many_there_are() -> None:
    book = AlertBook()
    book.learn(told(symptoms=[f"s{i}" for i in range(500)], gpus=[f"G{i}" for i in range(4096)]))
    (row,) = book.rows.values()
    assert row.symptoms == 500
    (raw,) = book.take_changes().values()
    assert raw is not None
    assert len(raw) < 10_000


def test_a_graph_link_is_filled_in_and_escaped_and_unknown_names_are_told() -> None:
    graphs = "https://g/d/x?node={node}&port={port}&from={from_ms}"
    link = Links(graphs=graphs).graph(told(subject=Subject(kind="port", id="s/Eth 1/2", device="s", port="Eth 1/2")))
    assert link == f"https://g/d/x?node=&port=Eth%201%2F2&from={(T0 - 5 * S) // 1000 - 600_000}"
    for wrong, says in (("https://g/{host}", "{host} is none of {cluster}"), ("https://g/{node", "expected '}'")):
        with pytest.raises(SettingError, match=re.escape(says)):
            Links(graphs=wrong)
