"""What each receiver reads, and what an HTTP answer means."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import pytest

from collectors.contract.message import END_US
from streams.alert_labels import Links
from streams.alert_news import Event
from streams.alert_payload import annotations, cut, fact, listed
from streams.contract import Candidate, Evidence
from streams.pagerduty import MOST_BYTES, event
from streams.posting import Answer, Patience, retry_after_s, shown
from streams.receiver import News
from streams.slack import text
from streams.webhook import message
from tests.streams.test_alerts import T0, S, told

ROOT = Path(__file__).parents[2]
LINKS = Links(runbooks="https://wiki/", graphs="https://g?n={node}")
NOW = datetime(2027, 1, 15, 8, 0, tzinfo=UTC)


def keys(value: Any, of: str = "") -> set[str]:
    """Every key of a document, dotted."""
    if isinstance(value, dict):
        return set().union(*({f"{of}{k}"} | keys(v, f"{of}{k}.") for k, v in value.items()))
    return keys(value[0], of) if isinstance(value, list) and value else set()


def test_the_webhook_sends_what_is_documented() -> None:
    (block,) = re.findall(r"```json\n(.*?)```", (ROOT / "docs/alerts.md").read_text(), re.DOTALL)
    sent = message(News(told(candidates=[Candidate(kind="job", id="j", score=0.5, why="w")]), "opened"), LINKS)
    assert keys(json.loads(block)) == keys(sent)
    assert json.loads(block)["version"] == sent["version"]


def test_every_event_is_documented() -> None:
    page = (ROOT / "docs/alerts.md").read_text()
    assert [e for e in get_args(Event) if e != "still" and f"`{e.replace(' ', '_')}`" not in page] == []


def test_every_annotation_is_documented_and_has_words() -> None:
    page = (ROOT / "docs/alerts.md").read_text()
    full = told(
        place="rack r1",
        confidence="low",
        gpu_hours_lost_per_hour=0.0,
        gpus=["G1"],
        acked_by="ann",
        candidates=[Candidate(kind="device", id="leaf-1", score=0.25, why="two of three cross it")],
    )
    said = annotations(full, LINKS, 0)
    assert [name for name in said if name != "cause" and f"`{name}`" not in page] == []
    assert (said["gpu_hours_lost_per_hour"], said["symptoms"]) == ("0", "0")
    assert said["candidates"] == "device leaf-1 (25%): two of three cross it"
    assert (said["runbook_url"], said["graph_url"], said["standing"]) == (
        "https://wiki/docs/runbooks/thermal_throttle.md",
        "https://g?n=n1",
        "seen by ann",
    )


def test_a_fact_has_its_number_its_unit_and_its_time() -> None:
    for row, words in (
        (Evidence(what="temperature", value=95.0, unit="C"), "temperature: 95 C"),
        (Evidence(what="flaps", value=1.0, unit="flaps", ts_us=T0), "flaps: 1 flap at 08:00:00"),
        (Evidence(what="flaps", value=0.0, unit="flaps"), "flaps: 0 flaps"),
        (Evidence(what="wait", value=1.0, unit="ms"), "wait: 1 ms"),
        (Evidence(what="a log line"), "a log line"),
    ):
        assert fact(row) == words


def test_a_list_says_how_many_are_missing_and_a_cut_shows() -> None:
    assert listed(["a", "b", "c"], 2) == "a, b and 1 more"
    assert (cut("abcd", 4), cut("abcde", 4)) == ("abcd", "abc…")


def test_pagerduty_gets_at_most_a_summary_of_1024_and_an_event_of_512_000_bytes() -> None:
    huge = told(summary="s" * 5000, evidence=[Evidence(what="\u2603" * 1_999) for _ in range(200)], jobs=["j" * 90_000])
    sent = event(News(huge, "opened"), "k", LINKS)
    assert len(sent["payload"]["summary"]) == 1024
    assert len(json.dumps(sent)) <= MOST_BYTES
    assert sent["payload"]["custom_details"]["action"] == "cool it"


def test_an_event_too_large_for_pagerduty_keeps_what_wakes_and_what_to_do() -> None:
    links = Links(graphs="https://g/" + "x" * MOST_BYTES)
    sent = event(News(told(), "opened"), "k", links)
    assert set(sent["payload"]["custom_details"]) == {"action", "dedup_key"}


def test_pagerduty_resolves_and_acknowledges_by_the_key_alone() -> None:
    for said, action in (("acked", "acknowledge"), ("ended", "resolve")):
        sent = event(News(told(), said), "k", LINKS)  # type: ignore[arg-type]
        assert sent == {"routing_key": "k", "event_action": action, "dedup_key": "lockstep/default/inc-1"}


def test_a_muted_incident_is_resolved_at_pagerduty_with_the_words_that_it_is_not_over() -> None:
    muted = told(state="updated", muted_until_us=T0 + 3600 * S, muted_by="ann")
    sent = event(News(muted, "quiet"), "k", LINKS)
    assert (sent["event_action"], sent["dedup_key"]) == ("resolve", "lockstep/default/inc-1")
    assert sent["payload"]["summary"] == "not over, muted by ann until 2027-01-15 09:00 UTC: hot"
    assert sent["payload"]["custom_details"]["standing"] == "muted by ann until 2027-01-15 09:00 UTC"


def test_slack_says_of_a_muted_incident_by_whom_and_until_when_and_never_that_it_is_over() -> None:
    for how, words in (
        (
            {"muted_until_us": T0 + 3600 * S, "muted_by": "ann"},
            "*Muted, not over: thermal_throttle on GPU 3 of n1*: muted by ann until 2027-01-15 09:00 UTC",
        ),
        (
            {"muted_until_us": END_US - 1, "muted_by": "ann"},
            "*Muted, not over: thermal_throttle on GPU 3 of n1*: muted by ann until it is unmuted",
        ),
        (
            {"planned": "maintenance of rack:r2 by bob"},
            "*Planned work, not over: thermal_throttle on GPU 3 of n1*: planned: maintenance of rack:r2 by bob",
        ),
    ):
        quiet = News(told(state="updated", **how), "quiet")
        assert text([quiet], LINKS).splitlines() == [f":no_bell: {words}", "hot"]
        assert text([quiet] * 4, LINKS).splitlines()[1] == f":no_bell: {words}: hot"


def test_a_runbook_that_is_a_path_is_no_link_for_pagerduty() -> None:
    assert event(News(told(), "opened"), "k", Links())["links"] == []
    assert [row["text"] for row in event(News(told(), "opened"), "k", LINKS)["links"]] == ["Runbook", "Graph"]


def test_a_message_to_slack_says_what_where_who_and_what_to_do() -> None:
    page = told(
        summary="hot <GPU> & slow",
        confidence="low",
        candidates=[
            Candidate(kind="gpu", id="G1", score=0.9, why="it is the part itself"),
            Candidate(kind="device", id="leaf-1", score=0.25, why="two cross it"),
        ],
    )
    assert text([News(page, "opened")], LINKS).splitlines() == [
        ":red_circle: *New page: thermal_throttle on GPU 3 of n1*",
        "hot &lt;GPU&gt; &amp; slow",
        "*Do:* cool it",
        "*Maybe:* device leaf-1 (25%): two cross it",
        "*Confidence:* low",
        "*Evidence:* temperature: 95 C",
        "<https://wiki/docs/runbooks/thermal_throttle.md|runbook> | <https://g?n=n1|graph> | 1 job | owner fleet | "
        "`lockstep ack inc-1`",
    ]


def test_a_short_message_to_slack_says_who_has_seen_it_and_how_long_it_lasted() -> None:
    assert text([News(told(acked_by="ann"), "acked")], LINKS).splitlines()[0] == (
        ":red_circle: *Seen: thermal_throttle on GPU 3 of n1*: seen by ann"
    )
    over = told(state="cleared", ts_us=T0 + 90 * S, cleared_us=T0 + 55 * S)
    assert text([News(over, "ended")], LINKS).splitlines()[0] == (
        ":white_check_mark: *Over: thermal_throttle on GPU 3 of n1* after 60 s"
    )


def test_an_incident_that_became_part_of_another_is_not_told_as_over() -> None:
    joined = told(state="cleared", ts_us=T0 + S, folded_into="inc-2", summary="part of inc-2: hot")
    assert text([News(joined, "ended")], LINKS).splitlines() == [
        ":arrow_right: *No incident of its own any more: thermal_throttle on GPU 3 of n1*: part of inc-2",
        "part of inc-2: hot",
    ]


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("30", 30.0),
        ("0", 0.0),
        ("-5", 0.0),
        ("1e9", 3600.0),
        ("nan", None),
        ("soon", None),
        ("Fri, 15 Jan 2027 08:00:20 GMT", 20.0),
        ("Fri, 15 Jan 2027 07:00:00 GMT", 0.0),
    ],
)
def test_a_retry_after_is_seconds_or_a_date_and_never_more_than_an_hour(
    header: str | None, seconds: float | None
) -> None:
    assert retry_after_s(header, NOW) == seconds


def test_the_waits_double_up_to_a_minute_and_begin_anew_after_an_answer() -> None:
    patience, no = Patience(), Answer(False, "500")
    waits = []
    for _ in range(8):
        patience.failed("x", no, 0)
        waits.append(patience.retry_at_us // S)
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60]
    patience.answered("x")
    assert patience.is_due(0)
    patience.failed("x", no, 0)
    assert patience.retry_at_us == S


def test_an_address_is_shown_without_what_may_be_secret() -> None:
    assert shown("https://me:hush@hooks.slack.com:8443/services/T/B/hush?x=hush") == "https://hooks.slack.com:8443"
