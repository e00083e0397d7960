"""A switch read over loopback: what an agent may do wrong, and what is published then."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import pytest

from collectors.contract.fabric import PortScrape
from collectors.snmp.agent import Agent, AgentError
from collectors.snmp.ber import OCTETS, SEQUENCE, element, number
from collectors.snmp.community import Community
from collectors.snmp.login import Login
from collectors.snmp.post import NoAnswer, Post
from collectors.snmp.presets import presets
from collectors.snmp.sweep import LEARN_AGAIN_S, Swept, Switch
from collectors.snmp.target import Target
from collectors.snmp.usm import User, Usm
from collectors.snmp.usm_cipher import PRIV_PROTOCOLS
from collectors.snmp.usm_keys import AUTH_PROTOCOLS
from tests.collectors.snmp_agent import Agent as Served
from tests.collectors.snmp_agent import UserAgent, counter32, response, serve, switch, text, ticks

T = TypeVar("T")
SHORT_S = 0.05
READER = User("reader", AUTH_PROTOCOLS["SHA-256"], "authentic", PRIV_PROTOCOLS["AES"], "private!!")


class Line:
    """A served agent, and a reader of it with a clock that tests move."""

    def __init__(self, served: Served, post: Post, reader: Switch, now_s: list[float]) -> None:
        self.served = served
        self.post = post
        self.reader = reader
        self.now_s = now_s

    async def sweep(self, after_s: float = 15.0) -> Swept:
        self.now_s[0] += after_s
        return await self.reader.sweep()


def over(
    served: Served, body: Callable[[Line], Coroutine[Any, Any, T]], preset: str = "standard", varbinds: int = 100
) -> T:
    """Run a test's body against an agent on loopback."""

    async def run() -> T:
        host, port, close = await serve(served)
        post = Post(first_id=1, stray=lambda address, raw, why: None)
        now_s = [1000.0]
        security = Usm(served.user) if isinstance(served, UserAgent) else Community(b"public")
        agent = Agent(post, (host, port), security, timeout_s=SHORT_S, tries=3, varbinds=varbinds)
        target = Target(name="leaf1", host=host, port=port, preset=presets(None)[preset], login=Login(community=b""))
        reader = Switch(
            target,
            agent,
            cluster="c",
            interval_us=15_000_000,
            clock=lambda: now_s[0],
            now_us=lambda: 1_700_000_000_000_000 + round(now_s[0] * 1e6),
        )
        try:
            return await body(Line(served, post, reader, now_s))
        finally:
            post.close()
            close()

    return asyncio.run(run())


def one(served: Served, preset: str = "standard", varbinds: int = 100) -> Swept:
    """One sweep."""

    async def body(line: Line) -> Swept:
        return await line.sweep()

    return over(served, body, preset, varbinds)


def by_port(scrape: PortScrape, column: str) -> dict[str, int | float | None]:
    return dict(zip((port.name for port in scrape.ports), scrape.columns[column], strict=True))


WHOLE = {f"Ethernet{n}": n << 33 for n in range(1, 5)}


def test_ports_are_called_by_ifname_and_what_is_no_port_is_left_out() -> None:
    swept = one(Served(switch(4)))
    assert by_port(swept.scrape, "port_rx_bytes") == WHOLE
    assert by_port(swept.scrape, "port_tx_discard_packets") == {f"Ethernet{n}": n for n in range(1, 5)}
    assert [port.speed_gbps for port in swept.scrape.ports] == [400.0] * 4
    assert [port.oper_up for port in swept.scrape.ports] == [True] * 4
    assert swept.error is None


def test_the_form_tells_which_counters_have_32_bits() -> None:
    scrape = one(Served(switch(2))).scrape
    forms = {name: form.bits for name, form in scrape.forms.items() if form.kind == "counter"}
    assert set(forms.values()) == {32}
    assert {"port_rx_discard_packets", "port_tx_error_packets"} <= forms.keys()
    assert not {"port_rx_bytes", "port_rx_fcs_error_frames"} & forms.keys()


def test_the_32_bit_twin_is_taken_only_where_there_is_no_other() -> None:
    high, low = one(Served(switch(2))).scrape, one(Served(switch(2, high=False))).scrape
    assert by_port(high, "port_rx_fcs_error_frames")["Ethernet2"] == 2 << 33
    assert by_port(low, "port_rx_fcs_error_frames")["Ethernet2"] == 2
    assert low.forms["port_rx_fcs_error_frames"].bits == 32
    assert "port_rx_bytes" not in low.columns


def test_counters_of_priorities_carry_them() -> None:
    scrape = one(Served(switch(2, priorities=8)), "mellanox").scrape
    assert by_port(scrape, "pg_drop_packets.3") == {"Ethernet1": 4, "Ethernet2": 5}
    assert by_port(scrape, "pfc_rx_frames.7") == {"Ethernet1": 8, "Ethernet2": 9}


@pytest.mark.parametrize("most", [7, 10, 33])
def test_an_agent_that_answers_few_at_once_loses_nothing(most: int) -> None:
    async def body(line: Line) -> tuple[Swept, Swept, int]:
        return await line.sweep(), await line.sweep(), line.reader.agent.varbinds

    first, second, varbinds = over(Served(switch(30, priorities=2), most=most), body, "mellanox")
    for swept in (first, second):
        assert all(None not in values for values in swept.scrape.columns.values())
        assert swept.error is None
    assert varbinds == max(8, most)


def test_an_agent_that_answers_too_big_is_asked_for_less() -> None:
    swept = one(Served(switch(20), too_big=12))
    assert all(None not in values for values in swept.scrape.columns.values())


def test_where_large_answers_are_lost_less_is_asked_for_at_once() -> None:
    swept = one(Served(switch(20), mangle=lambda answer: [answer] if len(answer) < 900 else []))
    assert swept.error is None
    assert all(None not in values for values in swept.scrape.columns.values())


def test_counters_whose_ports_names_did_not_come_are_not_published() -> None:
    async def body(line: Line) -> None:
        await line.sweep()
        begun = len(line.served.asked)
        # The status is answered, the names are not, the first counters are.
        line.served.silent = lambda n: n != begun and line.served.asked[n].count(b"\x02\x01\x1f\x01\x01\x01\x01") > 0
        line.served.fill(switch(4, uptime=101_500))
        with pytest.raises(AgentError, match="no answer"):
            await line.sweep()

    over(Served(switch(4)), body)


def test_neighbours_that_cannot_be_read_now_stand_and_the_ports_are_published() -> None:
    lldp = {
        "1.0.8802.1.1.2.1.4.1.1.7.0.2.1": text("Ethernet9"),
        "1.0.8802.1.1.2.1.4.1.1.9.0.2.1": text("spine1"),
    }

    async def body(line: Line) -> list[Swept]:
        out = [await line.sweep()]
        line.served.silent = lambda n: b"\x28\xc4\x62\x01" in line.served.asked[n]
        line.served.fill(switch(4, uptime=107_500) | lldp)
        out.append(await line.sweep(75.0))
        line.served.silent = lambda n: False
        line.served.fill(switch(4, uptime=115_000))
        out.append(await line.sweep(75.0))
        return out

    first, second, third = over(Served(switch(4) | lldp), body)
    assert [(link.port, link.far_device, link.far_port, link.up) for link in first.links] == [
        ("Ethernet1", "spine1", "Ethernet9", True)
    ]
    assert second.links == [] and second.error is not None and second.error.startswith("neighbours: no answer")
    assert by_port(second.scrape, "port_rx_bytes") == WHOLE
    assert [(link.port, link.up) for link in third.links] == [("Ethernet1", False)]


def test_a_lost_question_is_asked_again_in_the_same_bytes() -> None:
    served = Served(switch(4), silent=lambda n: n % 3 == 1)
    assert by_port(one(served).scrape, "port_rx_bytes") == WHOLE
    assert served.asked[1] == served.asked[2]


def test_an_answer_that_comes_twice_is_counted_and_dropped() -> None:
    async def body(line: Line) -> tuple[Swept, int]:
        return await line.sweep(), line.post.late

    swept, late = over(Served(switch(4), mangle=lambda answer: [answer, answer]), body)
    assert by_port(swept.scrape, "port_rx_bytes") == WHOLE
    assert late > 0


def test_an_agent_that_is_silent_costs_its_time_once() -> None:
    served = Served(switch(4), silent=lambda n: True)
    with pytest.raises(AgentError, match=r"no answer to 3 tries.*right community"):
        one(served)
    assert len(served.asked) == 3


def test_what_an_agent_that_hangs_midway_did_not_tell_is_none_and_the_rest_stands() -> None:
    async def body(line: Line) -> tuple[Swept, int, int]:
        await line.sweep()
        begun = len(line.served.asked)
        line.served.silent = lambda n: n >= begun + 4
        line.served.fill(switch(4, priorities=8, grown=5, uptime=101_500))
        swept = await line.sweep()
        return swept, begun, len(line.served.asked)

    swept, begun, asked = over(Served(switch(4, priorities=8)), body, "mellanox")
    assert swept.error is not None and "no answer" in swept.error
    assert swept.scrape.errors["sweep"] == swept.error
    values = [value for values in swept.scrape.columns.values() for value in values]
    assert None in values and any(value is not None for value in values)
    # Nothing of the sweep before stands in for what did not come.
    assert by_port(swept.scrape, "pg_drop_packets.7") == dict.fromkeys(WHOLE)
    # Two questions were on their way, three times each.
    assert asked - begun <= 4 + 6


def test_ports_that_change_their_numbers_keep_their_counters() -> None:
    async def body(line: Line) -> tuple[Swept, Swept]:
        before = await line.sweep()
        # A reboot that the uptime does not show: names stand at other numbers now.
        line.served.fill(switch(4, first_index=3, uptime=101_500))
        return before, await line.sweep()

    before, after = over(Served(switch(4)), body)
    assert by_port(before.scrape, "port_rx_bytes") == by_port(after.scrape, "port_rx_bytes") == WHOLE
    assert after.error is None


def test_an_agent_that_began_anew_has_another_epoch() -> None:
    async def body(line: Line) -> list[str]:
        epochs = [(await line.sweep()).scrape.epoch]
        line.served.fill(switch(4, uptime=101_500))
        epochs.append((await line.sweep()).scrape.epoch)
        line.served.fill(switch(4, uptime=300))
        epochs.append((await line.sweep(120.0)).scrape.epoch)
        return epochs

    first, same, other = over(Served(switch(4)), body)
    assert first == same != other


def test_a_port_whose_counters_broke_has_an_epoch_of_its_own() -> None:
    async def body(line: Line) -> list[list[str]]:
        first = await line.sweep()
        values = switch(2, uptime=101_500)
        values["1.3.6.1.2.1.31.1.1.1.19.3"] = ticks(101_000)
        line.served.fill(values)
        return [first.scrape.port_epochs, (await line.sweep()).scrape.port_epochs]

    assert over(Served(switch(2)), body) == [["break:0", "break:0"], ["break:0", "break:101000"]]


def test_a_port_that_went_is_none_and_gone_when_it_is_learned_anew() -> None:
    async def body(line: Line) -> list[PortScrape]:
        out = [(await line.sweep()).scrape]
        line.served.fill(switch(3, uptime=101_500))
        out.append((await line.sweep()).scrape)
        line.served.fill(switch(3, uptime=101_500 + round(100 * LEARN_AGAIN_S)))
        out.append((await line.sweep(LEARN_AGAIN_S)).scrape)
        return out

    before, during, after = over(Served(switch(4)), body)
    assert by_port(before, "port_rx_bytes") == WHOLE
    assert by_port(during, "port_rx_bytes") == {**WHOLE, "Ethernet4": None}
    assert [port.name for port in after.ports] == ["Ethernet1", "Ethernet2", "Ethernet3"]


def test_a_port_that_came_is_found() -> None:
    async def body(line: Line) -> list[int]:
        out = [len((await line.sweep()).scrape.ports)]
        line.served.fill(switch(6, changed=9, uptime=100_000 + 100 * 75))
        out.append(len((await line.sweep(LEARN_AGAIN_S)).scrape.ports))
        return out

    assert over(Served(switch(4)), body) == [4, 6]


def test_a_column_that_goes_in_circles_ends_and_is_told() -> None:
    served = Served(switch(3))
    answer = served._bulk

    def circling(wanted: list[tuple[int, ...]], repetitions: int) -> list[bytes]:
        return answer([w if w[:11] != (1, 3, 6, 1, 2, 1, 2, 2, 1, 13, 3) else w[:10] for w in wanted], repetitions)

    served._bulk = circling  # type: ignore[method-assign]
    served.most = 3
    swept = one(served)
    assert "circles" in swept.scrape.errors["1.3.6.1.2.1.2.2.1.13"]
    assert by_port(swept.scrape, "port_rx_bytes")["Ethernet3"] == 3 << 33


def test_a_column_that_the_agent_cannot_read_stops_no_other() -> None:
    async def body(line: Line) -> Swept:
        await line.sweep()
        asked = len(line.served.asked)
        respond = line.served.respond

        def broken(raw: bytes, at: int, stop: int) -> bytes:
            if len(line.served.asked) == asked + 4:
                return response(int.from_bytes(raw[at + 4 : at + 8]) if raw[at + 1] < 128 else _id(raw, at), 5, [])
            return respond(raw, at, stop)

        line.served.respond = broken  # type: ignore[method-assign]
        line.served.fill(switch(4, grown=1, uptime=101_500))
        return await line.sweep()

    swept = over(Served(switch(4)), body)
    assert swept.error == "the agent answers genErr"
    values = [value for values in swept.scrape.columns.values() for value in values]
    assert None in values and any(value is not None for value in values)


def _id(raw: bytes, at: int) -> int:
    begin = raw.index(b"\x02\x04", at) + 2
    return int.from_bytes(raw[begin : begin + 4])


@pytest.mark.parametrize(
    ("mangle", "why"),
    [
        (lambda answer: [answer[:-9]], "no answer"),
        (lambda answer: [answer[:60] + b"\xff" + answer[61:]], "cannot be read|no answer|ports changed|no interface"),
        (lambda answer: [b"HTTP/1.1 400 Bad Request"], "no answer"),
        (lambda answer: [answer[:2] + b"\x02\x01\x00" + answer[5:]], "no answer"),
    ],
)
def test_bytes_that_are_no_answer_are_an_error_in_words(mangle: Callable[[bytes], list[bytes]], why: str) -> None:
    served = Served(switch(1), mangle=mangle)
    with pytest.raises(AgentError, match=why):
        one(served)


def test_bytes_that_are_no_snmp_are_told_with_their_sender() -> None:
    async def run() -> list[tuple[bytes, str]]:
        host, port, close = await serve(Served(switch(1), mangle=lambda answer: [b"\x00\x01"]))
        strays: list[tuple[bytes, str]] = []
        post = Post(first_id=1, stray=lambda address, raw, why: strays.append((raw, why)))
        agent = Agent(post, (host, port), Community(b"public"), timeout_s=SHORT_S, tries=1)
        with pytest.raises(AgentError):
            await agent.walk([b"\x2b"])
        post.close()
        close()
        return strays

    ((raw, why),) = asyncio.run(run())
    assert raw == b"\x00\x01" and "beyond the end" in why


def test_an_answer_from_another_address_is_not_taken_and_named() -> None:
    async def run() -> None:
        post = Post(first_id=1, stray=lambda address, raw, why: None)
        sent = post.number()
        answer = element(SEQUENCE, number(1), element(OCTETS, b"public"), response(sent, 0, []))

        def elsewhere(tries: int) -> bool:
            post.datagram_received(answer, ("127.0.0.2", 161))
            return True

        host, port, close = await serve(Served({}, silent=elsewhere))
        with pytest.raises(NoAnswer, match=r"127\.0\.0\.2:161 answered in its place"):
            await post.ask((host, port), sent, b"?", timeout_s=SHORT_S, tries=1)
        post.close()
        close()

    asyncio.run(run())


def test_a_user_is_read_like_a_community_and_a_restarted_engine_is_followed() -> None:
    served = UserAgent(switch(4), user=READER)

    async def body(line: Line) -> list[Swept]:
        out = [await line.sweep()]
        served.boots, served.time_s = 9, 1
        served.fill(switch(4, uptime=101_500))
        out.append(await line.sweep())
        return out

    first, second = over(served, body)
    assert by_port(first.scrape, "port_rx_bytes") == by_port(second.scrape, "port_rx_bytes") == WHOLE
    assert served.reports == ["4", "2"] or served.reports == ["4", "2", "2"]


def test_an_agent_without_interfaces_says_what_to_give_it() -> None:
    with pytest.raises(AgentError, match="view of"):
        one(Served({"1.3.6.1.2.1.1.3.0": ticks(5)}))


def test_an_agent_without_uptime_says_what_to_give_it() -> None:
    values = switch(2)
    del values["1.3.6.1.2.1.1.3.0"]
    with pytest.raises(AgentError, match="sysUpTime"):
        one(Served(values))


def test_a_counter_that_is_text_is_read_and_other_text_is_none() -> None:
    values = switch(2)
    values["1.3.6.1.2.1.2.2.1.13.2"] = text("77")
    values["1.3.6.1.2.1.2.2.1.13.3"] = text("n/a")
    scrape = one(Served(values)).scrape
    assert by_port(scrape, "port_rx_discard_packets") == {"Ethernet1": 77, "Ethernet2": None}
    assert "port_rx_discard_packets" in scrape.errors


def test_rows_between_the_ports_are_read_over_and_a_hole_is_none() -> None:
    values = switch(6)
    for column in ("1.3.6.1.2.1.2.2.1.3", "1.3.6.1.2.1.2.2.1.13"):
        values[f"{column}.4"] = counter32(1) if column.endswith("13") else values["1.3.6.1.2.1.2.2.1.3.1"]
    del values["1.3.6.1.2.1.2.2.1.19.5"]
    scrape = one(Served(values)).scrape
    assert [port.name for port in scrape.ports] == ["Ethernet1", "Ethernet2", "Ethernet4", "Ethernet5", "Ethernet6"]
    assert by_port(scrape, "port_tx_discard_packets") == {
        "Ethernet1": 1,
        "Ethernet2": 2,
        "Ethernet4": None,
        "Ethernet5": 5,
        "Ethernet6": 6,
    }
