"""Alerts to PagerDuty, Slack and webhooks over real HTTP, to receivers that fail in every way they know."""

import asyncio
import logging
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from infra.kafka.process import free_port
from streams.alerts import AlertBook
from streams.contract import INCIDENTS, Incident
from streams.posting import Poster
from streams.receiver import Teller
from streams.receivers import http_session, receivers
from streams.settings import StreamSettings
from tests.integration.fake_receiver import FakeReceiver, fake, until
from tests.integration.stream_line import Line, line, wait_until
from tests.integration.stream_line import story as stream_story
from tests.streams.test_alerts import T0, S, told

KEY = "0123456789abcdef0123456789abcdef"
MUTED = {"muted_until_us": T0 + 3600 * S, "muted_by": "ann"}


class Clock:
    """Of the senders: goes on when it is told to."""

    def __init__(self) -> None:
        self.us = T0

    def __call__(self) -> int:
        return self.us


def run(story: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(story())


@asynccontextmanager
async def tellers(book: AlertBook, clock: Clock, total_s: Any = 5.0, **set_: Any) -> AsyncIterator[list[Teller]]:
    """By settings, as the worker makes them, with a clock of the test's."""
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=total_s)) as session:
        found = [r for r in receivers(StreamSettings(**set_), book, Path("unused"), session) if isinstance(r, Teller)]
        for teller in found:
            teller.now_us = clock
        yield found


async def rounds(found: list[Teller], clock: Clock, seconds: int = 1) -> None:
    for _ in range(seconds):
        for teller in found:
            await teller.send_due(clock.us)
        clock.us += S


def pagerduty(there: FakeReceiver | str, **more: Any) -> dict[str, Any]:
    url = there if isinstance(there, str) else there.url
    return {"pagerduty_key": KEY, "pagerduty_url": url, **more}


def actions(there: FakeReceiver) -> list[tuple[str, str]]:
    return [(body["event_action"], body["dedup_key"]) for body in there.got]


def test_a_life_at_pagerduty_is_one_key_triggered_acknowledged_and_resolved() -> None:
    async def story() -> None:
        book, clock = AlertBook(), Clock()
        async with fake() as there, tellers(book, clock, **pagerduty(there)) as found:
            for change in (
                {},
                {"state": "updated", "jobs": ["a", "b"]},
                {"state": "updated", "cause_word": "xid_79"},
                {"state": "updated", "cause_word": "xid_79", "acked_by": "ann"},
                {"state": "cleared", "cause_word": "xid_79", "acked_by": "ann"},
            ):
                book.learn(told(ts_us=clock.us, **change))
                await rounds(found, clock, 3)
            assert actions(there) == [
                ("trigger", "lockstep/default/inc-1"),
                ("trigger", "lockstep/default/inc-1"),
                ("acknowledge", "lockstep/default/inc-1"),
                ("resolve", "lockstep/default/inc-1"),
            ]
            assert there.got[0]["payload"]["severity"] == "critical"
            assert {body["routing_key"] for body in there.got} == {KEY}
            book.forget(clock.us + 301 * S, lambda row: all(t.is_done(row) for t in found))
            assert book.rows == {}

    run(story)


def test_pagerduty_is_told_of_pages_and_of_tickets_only_where_asked() -> None:
    async def story() -> None:
        for tickets, first in ((False, []), (True, ["warning"])):
            book, clock = AlertBook(), Clock()
            async with fake() as there, tellers(book, clock, **pagerduty(there, pagerduty_tickets=tickets)) as found:
                book.learn(told(severity="warning"))
                await rounds(found, clock)
                assert [b["payload"]["severity"] for b in there.got] == first
                book.learn(told(state="updated", ts_us=clock.us))
                await rounds(found, clock)
                assert [b["payload"]["severity"] for b in there.got] == [*first, "critical"]

    run(story)


def test_a_mute_resolves_and_its_end_triggers_again_and_what_is_planned_is_never_sent() -> None:
    async def story() -> None:
        book, clock = AlertBook(), Clock()
        async with fake() as there, tellers(book, clock, **pagerduty(there)) as found:
            book.learn(told(id="inc-2", planned="new pumps"))
            for quiet in ({}, MUTED, {}):
                book.learn(told(state="updated", ts_us=clock.us, **quiet))
                await rounds(found, clock, 2)
            key = "lockstep/default/inc-1"
            assert actions(there) == [("trigger", key), ("resolve", key), ("trigger", key)]

    run(story)


@pytest.mark.parametrize("trouble", [429, 500, 503, 302, "hang", "half", (429, "slow down", {"Retry-After": "0"})])
def test_every_receiver_is_tried_again_and_takes_it_once(trouble: Any) -> None:
    async def story() -> None:
        book, clock = AlertBook(), Clock()
        book.learn(told())
        async with fake(trouble, trouble) as pd, fake(trouble, trouble) as chat, fake(trouble, trouble) as hook:
            set_ = {**pagerduty(pd), "slack": f"{chat.url}/services/T/B/x", "webhook": f"{hook.url}/in"}
            async with tellers(book, clock, total_s=0.3, **set_) as found:
                await rounds(found, clock, 20)
            assert (len(pd.got), len(chat.got), len(hook.got)) == (3, 3, 3)
            assert {b["dedup_key"] for b in pd.got} | {b["dedup_key"] for b in hook.got} == {"lockstep/default/inc-1"}
            assert len({h["Idempotency-Key"] for h in hook.headers}) == 1

    run(story)


def test_a_receiver_that_is_away_for_an_hour_hears_each_thing_once_when_it_is_back() -> None:
    async def story() -> None:
        book, clock, port = AlertBook(), Clock(), free_port()
        url = f"http://127.0.0.1:{port}"
        set_ = {**pagerduty(url), "slack": f"{url}/services/x", "webhook": f"{url}/in"}
        async with tellers(book, clock, **set_) as found:
            book.learn(told())
            book.learn(told(id="inc-over"))
            book.learn(told(id="inc-over", state="cleared", ts_us=clock.us + S))
            for minute in range(60):
                await rounds(found, clock)
                clock.us += 59 * S
                book.forget(clock.us, lambda row: all(t.is_done(row) for t in found))
                assert minute < 3 or all(t.patience.failing for t in found)
            book.learn(told(state="updated", ts_us=clock.us, cause_word="xid_79"))
            async with fake(port=port) as there:
                clock.us += 60 * S
                await rounds(found, clock, 5)
                keys = [b for b in there.got if "routing_key" in b]
                hooked = [(b["incident"], b["event"]) for b in there.got if "event" in b]
                (said,) = [b["text"] for b in there.got if "text" in b]
                # A pager is not woken for what is over; a chat and a ticket system hear that it was.
                assert [(b["event_action"], b["dedup_key"]) for b in keys] == [
                    ("resolve", "lockstep/default/inc-over"),
                    ("trigger", "lockstep/default/inc-1"),
                ]
                assert keys[1]["payload"]["class"] == "xid_79"
                assert hooked == [("inc-over", "opened_and_ended"), ("inc-1", "opened")]
                assert "New page: xid_79 on GPU 3 of n1" in said
                assert "Came and went while no message got through" in said

    run(story)


def test_a_worker_that_dies_hands_over_what_was_told() -> None:
    async def story() -> None:
        book, clock = AlertBook(), Clock()
        async with fake() as pd, fake() as chat:
            set_ = {**pagerduty(pd), "slack": f"{chat.url}/services/x"}
            async with tellers(book, clock, **set_) as found:
                book.learn(told())
                await rounds(found, clock)
            rows = {k: v for k, v in book.take_changes().items() if v is not None}
            heir = AlertBook()
            heir.restore(rows)
            async with tellers(heir, clock, **set_) as found:
                await rounds(found, clock, 3)
                assert (len(pd.got), len(chat.got)) == (1, 1)
                heir.learn(told(state="cleared", ts_us=clock.us))
                await rounds(found, clock, 3)
            assert (len(pd.got), len(chat.got)) == (2, 2)

    run(story)


def test_a_row_that_went_to_another_worker_while_it_was_sent_is_not_written_here() -> None:
    async def story() -> None:
        book, clock = AlertBook(), Clock()
        book.learn(told())
        async with fake("hang") as there, tellers(book, clock, total_s=0.3, **pagerduty(there)) as (teller,):
            sending = asyncio.create_task(teller.send_due(clock.us))
            await until(lambda: len(there.got) == 1)
            book.close()
            await sending
            assert book.take_changes() == {}

    run(story)


def test_what_pagerduty_refuses_holds_back_nothing_else_and_is_offered_again() -> None:
    async def story() -> None:
        book, clock = AlertBook(), Clock()
        book.learn(told(id="inc-a"))
        book.learn(told(id="inc-b"))
        refusal: Any = (400, "Event object is invalid", {})
        async with fake(refusal) as there, tellers(book, clock, **pagerduty(there)) as found:
            await rounds(found, clock, 5)
            assert [b["dedup_key"][-1] for b in there.got] == ["a", "b"]
            clock.us += 600 * S
            await rounds(found, clock, 2)
            assert [b["dedup_key"][-1] for b in there.got] == ["a", "b", "a"]

    run(story)


def test_a_wrong_key_loses_nothing_and_is_never_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        book, clock = AlertBook(), Clock()
        book.learn(told())
        wrong: Any = (400, f"Invalid routing key {KEY}", {})
        async with fake(wrong, wrong, wrong) as there, tellers(book, clock, **pagerduty(there)) as found:
            await rounds(found, clock, 20)
            assert len(there.got) == 4

    with caplog.at_level(logging.DEBUG, "lockstep.stream"):
        run(story)
    assert "Invalid routing key (key)" in caplog.text
    assert KEY not in caplog.text


def test_a_slack_address_is_never_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        book, clock = AlertBook(), Clock()
        book.learn(told())
        set_ = {
            "slack": f"http://127.0.0.1:{free_port()}/services/hush",
            "webhook": f"http://127.0.0.1:{free_port()}/hush",
        }
        async with tellers(book, clock, **set_) as found:
            await rounds(found, clock, 3)

    with caplog.at_level(logging.DEBUG, "lockstep.stream"):
        run(story)
    assert "slack takes no alerts" in caplog.text
    assert "hush" not in caplog.text


def test_slack_is_told_what_turned_and_that_nobody_has_seen_it_until_somebody_has() -> None:
    async def story() -> None:
        book, clock = AlertBook(), Clock()
        async with fake() as there, tellers(book, clock, slack=f"{there.url}/services/x") as found:
            for seconds, change in (
                (0, {"severity": "warning"}),
                (0, {"state": "updated"}),
                (0, {"state": "updated", "jobs": ["a", "b"]}),
                (30, {"state": "updated", "cause_word": "xid_79", "action": "reboot"}),
                (4 * 3600, {"state": "updated", "cause_word": "xid_79", "action": "reboot"}),
                (0, {"state": "updated", "cause_word": "xid_79", "action": "reboot", "acked_by": "ann"}),
                (9 * 3600, {"state": "updated", "cause_word": "xid_79", "action": "reboot", "acked_by": "ann"}),
                (0, {"state": "updated", "cause_word": "xid_79", "action": "reboot", "acked_by": "ann", **MUTED}),
                (0, {"state": "cleared", "cause_word": "xid_79", "action": "reboot", "acked_by": "ann"}),
            ):
                clock.us += seconds * S
                book.learn(told(ts_us=clock.us, **change))
                await rounds(found, clock, 3)
            assert [b["text"].split("*")[1].split(":")[0] for b in there.got] == [
                "New ticket",
                "A ticket became a page",
                "Another cause (page)",
                "Still there, nobody has seen it (page)",
                "Seen",
                "Muted, not over",
                "Over",
            ]

    run(story)


def test_slack_gets_one_message_a_second_and_a_crowd_in_one() -> None:
    async def story() -> None:
        book, clock = AlertBook(), Clock()
        for n in range(45):
            book.learn(told(id=f"inc-{n:02}", severity="warning"))
        async with fake() as there, tellers(book, clock, slack=f"{there.url}/services/x") as found:
            sent = []
            for _ in range(4):
                await rounds(found, clock)
                sent.append(len(there.got))
            assert sent == [1, 2, 3, 3]
            assert [b["text"].splitlines()[0] for b in there.got[:2]] == ["*20 incidents at once*"] * 2
            assert all(len(b["text"]) < 4000 for b in there.got)

    run(story)


def test_a_retry_after_is_waited_for() -> None:
    async def story() -> None:
        book, clock = AlertBook(), Clock()
        book.learn(told())
        limited = (429, "rate_limited", {"Retry-After": "30"})
        async with fake(limited) as there, tellers(book, clock, slack=f"{there.url}/services/x") as found:
            await rounds(found, clock, 30)
            assert len(there.got) == 1
            await rounds(found, clock, 1)
            assert len(there.got) == 2

    run(story)


def test_a_webhook_gets_its_token_and_every_update() -> None:
    async def story() -> None:
        book, clock = AlertBook(), Clock()
        async with fake() as there, fake() as other:
            set_ = {"webhook": f"{there.url}/a,{other.url}/b", "webhook_token": "hush"}
            async with tellers(book, clock, **set_) as found:
                for change in ({}, {"state": "updated", "jobs": ["a", "b"]}, {"state": "cleared"}):
                    book.learn(told(ts_us=clock.us, **change))
                    await rounds(found, clock)
            assert [b["event"] for b in there.got] == [b["event"] for b in other.got] == ["opened", "updated", "ended"]
            assert {h["Authorization"] for h in there.headers} == {"Bearer hush"}

    run(story)


def alert_test(*words: str, **set_: str) -> "subprocess.CompletedProcess[str]":
    environment = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSTEP_")}
    return subprocess.run(
        [sys.executable, "-m", "infra.command.main", "alert-test", "--for", "0.1s", *words],
        env=environment | set_,
        capture_output=True,
        text=True,
        check=False,
    )


def test_alert_test_asks_everybody_and_says_what_each_answered(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(f"{KEY}\n")

    async def story() -> None:
        async with fake() as pd, fake() as chat, fake(500, 500) as hook:
            said = await asyncio.to_thread(
                alert_test,
                LOCKSTEP_PAGERDUTY_KEY_FILE=str(tmp_path / "key"),
                LOCKSTEP_PAGERDUTY_URL=pd.url,
                LOCKSTEP_SLACK=f"{chat.url}/services/hush",
                LOCKSTEP_WEBHOOK=f"{hook.url}/hush",
            )
            assert [b["event_action"] for b in pd.got] == ["trigger", "resolve"]
            assert [b["text"].split("*")[1].split(":")[0] for b in chat.got] == ["New page", "Over"]
            assert said.returncode == 1
            assert said.stdout.splitlines() == [
                "opened, a page, and it says TEST",
                "  pagerduty  took it: 202 ok",
                "  slack  took it: 202 ok",
                f"  webhook {hook.url}  did NOT take it: 500 ok",
                "ended, a page, and it says TEST",
                "  pagerduty  took it: 202 ok",
                "  slack  took it: 202 ok",
                f"  webhook {hook.url}  did NOT take it: 500 ok",
            ]

    run(story)


def test_a_setting_that_cannot_be_used_is_one_line_without_its_value(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("")
    for set_, says in (
        ({"LOCKSTEP_PAGERDUTY_KEY": "hush"}, "LOCKSTEP_PAGERDUTY_KEY: a routing key has 32 letters and digits"),
        ({"LOCKSTEP_SLACK": "hush"}, "LOCKSTEP_SLACK: write an address that begins with https:// (or http://)"),
        (
            {"LOCKSTEP_SLACK": "https://h/hush", "LOCKSTEP_SLACK_FILE": "f"},
            "LOCKSTEP_SLACK and LOCKSTEP_SLACK_FILE are both set: set one of them",
        ),
        (
            {"LOCKSTEP_SLACK_FILE": str(tmp_path / "empty")},
            f"LOCKSTEP_SLACK_FILE={tmp_path}/empty: the file is empty",
        ),
    ):
        said = alert_test(**set_)
        assert (said.returncode, said.stdout, said.stderr) == (2, "", f"lockstep alert-test: {says}\n")


@pytest.mark.kafka
def test_a_worker_killed_while_receivers_are_away_loses_nothing_and_says_nothing_twice() -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    told_to = {
        "LOCKSTEP_PAGERDUTY_KEY": KEY,
        "LOCKSTEP_PAGERDUTY_URL": url,
        "LOCKSTEP_PAGERDUTY_TICKETS": "1",
        "LOCKSTEP_WEBHOOK": f"{url}/hush",
    }

    def before_and_between(live: Line) -> None:
        with live.worker():
            live.ready()
            live.produce(stream_story(time.time_ns() // 1000 - 12_000_000, nodes=3, seconds=12))
            wait_until(lambda: len(opened(live)) == 2, live.log)
            wait_until(lambda: live.log().count("takes no alerts") == 2, live.log)
        assert f"worker 0 tells pagerduty, webhook {url}" in live.log()
        assert "hush" not in live.log()

    def after(live: Line, there: FakeReceiver, ready: int) -> None:
        with live.worker():
            live.ready(ready)
            wait_until(lambda: len(there.got) >= 4, live.log)
            time.sleep(3)

    async def story() -> None:
        with line(**told_to) as live:
            await asyncio.to_thread(before_and_between, live)
            async with fake(port=port) as there:
                await asyncio.to_thread(after, live, there, 2)
                await asyncio.to_thread(after, live, there, 3)
            expected = sorted(f"lockstep/default/{i.id}" for i in opened(live))
            assert sorted(b["dedup_key"] for b in there.got if b.get("event_action") == "trigger") == expected
            assert sorted(b["dedup_key"] for b in there.got if b.get("event") == "opened") == expected

    run(story)


def opened(live: Line) -> list[Incident]:
    return [i for i in live.read(INCIDENTS) if i.state == "opened"]


def test_the_way_out_may_be_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        async with fake() as proxy:
            monkeypatch.setenv("HTTP_PROXY", proxy.url)
            monkeypatch.delenv("NO_PROXY", raising=False)
            monkeypatch.delenv("no_proxy", raising=False)
            async with http_session() as session:
                answer = await Poster(session, "http://events.example/v2/enqueue").post({"a": 1})
            assert (answer.taken, proxy.got) == (True, [{"a": 1}])

    run(story)
