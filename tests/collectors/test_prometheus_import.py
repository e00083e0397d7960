"""History of a Prometheus: what is asked for, what becomes of refusals, and how an import goes on."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from collectors.contract.gpu import GpuScrape
from collectors.contract.kafka import kafka_settings
from collectors.contract.topics import GPU_SCRAPES
from collectors.prometheus import source
from collectors.prometheus.answer import BadAnswer, Line, read_answer, read_error
from collectors.prometheus.api import Api, Busy, Params, TooMuch
from collectors.prometheus.bar import Bar
from collectors.prometheus.history import History
from collectors.prometheus.importer import TRIES, Importer, Tally
from collectors.prometheus.plan import FEWEST_POINTS, MOST_POINTS, Asked, Plan, Progress, fitting, together
from collectors.prometheus.selector import matchers, one_of, select
from collectors.prometheus.times import grid, native_step, read_time
from collectors.remote_write.target import Out
from collectors.source import SourceError
from collectors.sources import SourceParser
from tests.collectors.list_outlet import ListOutlet
from tests.collectors.remote_write_bodies import CLOCK, TEMP, gpu

T_S = 1_800_000_000
STEP_S = 15.0


@pytest.fixture(autouse=True)
def own_state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("LOCKSTEP_STATE", str(tmp_path / "state"))
    kafka_settings.cache_clear()
    yield
    kafka_settings.cache_clear()


# What a server has: (name, labels, Unix seconds, value as text).
Point = tuple[str, dict[str, str], float, str]


def points(hosts: Iterable[str] = ("n1",), count: int = 40) -> list[Point]:
    return [
        (name, gpu(0, host), T_S + number * STEP_S + 0.25, str(number))
        for host in hosts
        for name in (TEMP, CLOCK)
        for number in range(count)
    ]


class Server:
    """A server by hand: `refuse` sees each query first and may raise or answer in its place."""

    def __init__(self, have: list[Point], refuse: Callable[[str, Params], bytes | None] = lambda *_: None) -> None:
        self.have = have
        self.refuse = refuse
        self.asked: list[tuple[str, Params]] = []
        self.sent = 0

    async def fetch(self, path: str, params: Params) -> bytes:
        self.asked.append((path, params))
        told = self.refuse(path, params)
        body = told if told is not None else json.dumps(self.answer(path, params)).encode()
        self.sent += len(body)
        return body

    def answer(self, path: str, params: Params) -> dict[str, Any]:
        if path.endswith("/values"):
            label = path.split("/")[-2]
            values = {name if label == "__name__" else labels.get(label, "") for name, labels, *_ in self.have}
            return {"status": "success", "data": sorted(values - {""})}
        query = params["query"]
        if query.startswith("count("):
            series = {(name, str(labels)) for name, labels, *_ in self.have}
            return success([{"metric": {}, "value": [0, str(len(series))]}])
        if query.startswith("topk("):
            name, labels, *_ = self.have[0]
            return success([{"metric": {"__name__": name, **labels}, "value": [0, "1"]}])
        found = re.fullmatch(r"\{(.*)\}\[(\d+)(ms|s)\]", query)
        assert found is not None, query
        wanted = dict(re.findall(r'(\w+)=~?"([^"]*)"', found[1]))
        to_s = float(params["time"])
        from_s = to_s - int(found[2]) / (1000 if found[3] == "ms" else 1)
        lines: dict[str, dict[str, Any]] = {}
        for name, labels, at_s, value in self.have:
            shown = {"__name__": name, **labels}
            if from_s <= at_s <= to_s and all(
                re.fullmatch(text, shown.get(label, "")) for label, text in wanted.items()
            ):
                line = lines.setdefault(json.dumps(shown), {"metric": shown, "values": []})
                line["values"].append([at_s, value])
        return success(list(lines.values()))


def success(result: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {"status": "success", "data": {"resultType": "matrix", "result": result}, **more}


def plan(count: int = 40, hosts: tuple[str, ...] = ("n1", ""), **more: Any) -> Plan:
    first = int(T_S // STEP_S)
    asked = Asked(url="http://s", from_="a", to="b", **more)
    return Plan(
        asked=asked,
        names=(TEMP, CLOCK),
        host_label="Hostname",
        hosts=hosts,
        step_s=STEP_S,
        first=first,
        end=first + count,
        together=1,
    )


class Import:
    """An importer with its doings kept."""

    def __init__(
        self, server: Server, *, partial: bool = False, deliver: Callable[[Out], bool] = lambda _: True
    ) -> None:
        self.out: Out = []
        self.staged: list[Progress] = []
        self.said: list[str] = []
        self.waited: list[float] = []

        async def take(out: Out) -> bool:
            taken = deliver(out)
            if taken:
                self.out += out
            return taken

        async def sleep(seconds: float) -> None:
            self.waited.append(seconds)

        self.importer = Importer(
            api=Api(server.fetch),
            history=History("c"),
            deliver=take,
            stage=self.staged.append,
            tell=lambda *_: None,
            complain=self.said.append,
            partial=partial,
            sleep=sleep,
        )

    def run(self, progress: Progress) -> "Import":
        asyncio.run(self.importer.run(progress))
        return self

    def scrapes(self) -> list[GpuScrape]:
        return [message for topic, message in self.out if topic is GPU_SCRAPES and isinstance(message, GpuScrape)]


def start(of: Plan, at_points: int = 10) -> Progress:
    return Progress(of, 0, of.first, at_points)


def test_scrapes_come_whole_with_their_own_times_in_the_order_of_time() -> None:
    done = Import(Server(points())).run(start(plan()))
    assert [(s.node, s.ts_us) for s in done.scrapes()] == [
        ("n1", (T_S * 1000 + number * 15_000 + 250) * 1000) for number in range(40)
    ]
    assert [s.columns for s in done.scrapes()][:2] == [{"150": [0.0], "100": [0.0]}, {"150": [1.0], "100": [1.0]}]
    assert done.importer.tally.samples == 80


def test_every_moment_is_asked_for_once_whatever_the_size_of_the_windows() -> None:
    for size in (1, 7, 40, 1000):
        assert len(Import(Server(points())).run(start(plan(), size)).scrapes()) == 40


def test_each_group_of_hosts_goes_through_all_of_time() -> None:
    done = Import(Server(points(("n1", "n2")))).run(start(plan(hosts=("n1", "n2", ""))))
    for host in ("n1", "n2"):
        times = [s.ts_us for s in done.scrapes() if s.node == host]
        assert len(times) == 40
        assert times == sorted(times)


def test_what_is_no_number_was_not_readable() -> None:
    have: list[Point] = [(TEMP, gpu(0), T_S, "NaN"), (CLOCK, gpu(0), T_S, "+Inf"), (TEMP, gpu(1), T_S, "0")]
    done = Import(Server(have)).run(start(plan()))
    assert [s.columns for s in done.scrapes()] == [{"150": [None, 0.0], "100": [None, None]}]


def test_of_a_pair_of_servers_one_is_taken() -> None:
    lines = [
        Line({"__name__": TEMP, **gpu(0), "prometheus_replica": replica}, [(T_S, value)])
        for replica, value in (("b", "2"), ("a", "1"))
    ]
    ((_, scrape),) = History("c").messages(lines, 0, 1 << 52)
    assert scrape.columns == {"150": [1.0]}  # type: ignore[attr-defined]


def test_a_window_that_is_too_much_is_halved_until_it_is_not() -> None:
    def refuse(_: str, params: Params) -> bytes | None:
        span = re.search(r"\[(\d+)ms\]", params["query"])
        if span is not None and int(span[1]) > 3 * STEP_S * 1000:
            raise TooMuch("query processing would load too many samples into memory")
        return None

    done = Import(Server(points(), refuse)).run(start(plan(), 40))
    assert len(done.scrapes()) == 40
    assert done.waited == []


@pytest.mark.parametrize(("after_s", "waits"), [(None, [1.0, 2.0]), (7.0, [7.0, 7.0])])
def test_a_busy_server_is_asked_again_later_for_less(after_s: float | None, waits: list[float]) -> None:
    failures = iter([Busy("HTTP status 503", after_s), Busy("no answer within 120 s", after_s)])

    def refuse(*_: Any) -> bytes | None:
        for failure in failures:
            raise failure
        return None

    done = Import(server := Server(points(), refuse)).run(start(plan(), 40))
    assert done.waited == waits
    assert [re.findall(r"\[(\d+)ms\]", params["query"])[0] for _, params in server.asked[:3]] == [
        "600000",
        "300000",
        "150000",
    ]
    assert len(done.scrapes()) == 40


def test_a_server_that_does_not_answer_any_more_ends_the_import_and_the_next_one_goes_on() -> None:
    server = Server(points())

    def refuse(*_: Any) -> bytes | None:
        if len(server.asked) > 3:
            raise Busy("gone")
        return None

    server.refuse = refuse
    broken = Import(server)
    with pytest.raises(SourceError, match="goes on from here"):
        broken.run(start(plan(), 5))
    assert len(broken.waited) == TRIES
    server.refuse = lambda *_: None
    rest = Import(server).run(broken.staged[-1])
    assert [s.ts_us for s in broken.scrapes() + rest.scrapes()] == [
        (T_S * 1000 + number * 15_000 + 250) * 1000 for number in range(40)
    ]


def test_nothing_is_passed_over_while_kafka_is_away() -> None:
    taken = iter([False, False, True, True, True, True, True, True, True, True])
    done = Import(Server(points()), deliver=lambda _: next(taken, True)).run(start(plan()))
    assert len(done.scrapes()) == 40
    assert any("Kafka has not taken it" in said for said in done.said)


def test_a_partial_answer_is_not_taken_unless_it_may_be() -> None:
    body = json.dumps(success([], warnings=["store-3 is away"])).encode()
    with pytest.raises(SourceError):
        (refused := Import(Server([], lambda *_: body))).run(start(plan()))
    assert "the answer lacks something: store-3 is away; --partial takes it as it is; again in 1 s" in refused.said
    done = Import(Server([], lambda *_: body), partial=True).run(start(plan()))
    assert done.said == ["the answer lacks something: store-3 is away"]
    assert set(done.importer.tally.doubts) == {"store-3 is away"}
    assert read_answer(json.dumps(success([], isPartial=True)).encode()).doubts == ["the answer is partial"]


def test_with_a_step_values_are_asked_for_at_that_distance() -> None:
    server = Server([], lambda *_: json.dumps(success([])).encode())
    Import(server).run(start(plan(4, ("n1",), step="15"), 100))
    ((path, params),) = server.asked
    assert path == "/api/v1/query_range"
    assert (params["start"], params["end"], params["step"]) == (f"{T_S}.000", f"{T_S + 45}.000", "15")
    assert params["query"] == '{__name__=~"DCGM_FI_DEV_GPU_TEMP|DCGM_FI_DEV_SM_CLOCK",Hostname="n1"}'


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"<html>", "not an answer of Prometheus' API"),
        (b'{"status":"error","error":"out of memory"}', "the server says error: out of memory"),
        (b"{}", "the server says nothing"),
        (b'{"status":"success","data":{"result":[{"values":"x"}]}}', "not an answer"),
    ],
)
def test_what_is_no_answer_is_told(body: bytes, why: str) -> None:
    with pytest.raises(BadAnswer, match=why):
        read_answer(body)


def test_a_refusal_is_told_in_a_line() -> None:
    assert read_error(b'{"status":"error","error":"too\\n many"}') == "too many"
    assert read_error(b"<html>\n" + b"x" * 1000) == "<html> " + "x" * 193


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("now", 1e9),
        ("2d", 1e9 - 172_800),
        ("1.5h", 1e9 - 5400),
        ("1234.5", 1234.5),
        ("2026-10-01", 1790812800.0),
        ("2026-10-01T12:00", 1790856000.0),
        ("2026-10-01T12:00:00+02:00", 1790848800.0),
        ("2026-10-01T12:00Z", 1790856000.0),
    ],
)
def test_times_are_read_as_people_write_them(text: str, seconds: float) -> None:
    assert read_time("--from", text, 1e9) == seconds


def test_a_time_that_is_none_is_named() -> None:
    with pytest.raises(SourceError, match="--from yesterday: write 2026-10-01"):
        read_time("--from", "yesterday", 0.0)


@pytest.mark.parametrize("text", ["99999999999999", "1000000000d"])
def test_a_time_that_no_calendar_has_is_named(text: str) -> None:
    with pytest.raises(SourceError, match=f"--to {text}: no time between 1970 and the year 10000"):
        read_time("--to", text, 1e9)


def test_windows_stand_on_the_grid_of_their_step() -> None:
    assert grid(100.0, 160.0, 15.0) == (7, 11)
    assert grid(105.0, 150.0, 15.0) == (7, 10)
    assert grid(101.0, 104.0, 15.0) == (7, 7)


@pytest.mark.parametrize(
    ("times", "step"),
    [
        ([0, 15, 30, 45], 15.0),
        ([0, 15.02, 29.99, 60, 75.01], 15.0),
        ([0, 0.2, 0.4, 0.61], 0.2),
        ([0, 15], None),
        ([], None),
    ],
)
def test_the_step_is_the_usual_distance(times: list[float], step: float | None) -> None:
    assert native_step([float(t) for t in times]) == step


def test_windows_grow_and_shrink_with_what_came() -> None:
    assert fitting(100, 0) == 200
    assert fitting(100, 80 << 20) == 10
    assert fitting(100, 1 << 40) == 1
    assert fitting(MOST_POINTS, 1) == MOST_POINTS
    assert together(256, 1) == 1
    assert 1 < together(256 * 1000, 1000) < 20
    assert together(10_000_000, 10) == 1
    assert FEWEST_POINTS < MOST_POINTS


def test_selectors_quote_what_they_hold() -> None:
    assert one_of("Hostname", ["a.b"]) == 'Hostname="a.b"'
    assert one_of("Hostname", ['a.b"', "c", ""]) == 'Hostname=~"a\\\\.b\\"|c|"'
    assert select("a=1", match=('b="2"', 'c="3"')) == ['{a=1,b="2"}', '{a=1,c="3"}']
    assert matchers(' {cluster="prod",} ') == 'cluster="prod"'
    assert matchers('cluster=~"a{2}"') == 'cluster=~"a{2}"'
    for bad in ("", "{}", "metric", 'up{a="b"}'):
        with pytest.raises(SourceError, match="write label matchers"):
            matchers(bad)


def test_progress_is_told_in_lines_where_there_is_no_terminal() -> None:
    said: list[str] = []
    clock = [0.0]
    with Bar(False, said.append, lambda: clock[0]) as bar:
        for at in range(5):
            clock[0] = at * 3.0
            bar.tell(Progress(plan(), 0, plan().first + at * 8, 8), Tally(messages=at, samples=1000 * at))
        bar.tell(Progress(plan(), 2, plan().first, 8), Tally(messages=40, samples=80))
        bar.complain("HTTP status 503; again in 1 s")
    assert said == [
        "lockstep collect prometheus: 0 %: hosts 1/2, 2027-01-15 08:00 UTC; 0 samples in 0 messages\n",
        "lockstep collect prometheus: 40 %: hosts 1/2, 2027-01-15 08:08 UTC; 4,000 samples in 4 messages\n",
        "lockstep collect prometheus: done: 80 samples in 40 messages\n",
        "lockstep collect prometheus: HTTP status 503; again in 1 s\n",
    ]


def options(*words: str) -> Any:
    return SourceParser(source="prometheus").parse_args(list(words))


def with_server(
    handle: Callable[[web.Request], Awaitable[web.StreamResponse]], use: Callable[[str], Awaitable[None]]
) -> None:
    async def run() -> None:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", handle)
        runner = web.AppRunner(app)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            await use(f"http://127.0.0.1:{runner.addresses[0][1]}")
        finally:
            await runner.cleanup()

    asyncio.run(run())


def over_http(server: Server) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def handle(request: web.Request) -> web.StreamResponse:
        params = {**request.query, **{key: str(value) for key, value in (await request.post()).items()}}
        return web.Response(body=await server.fetch(request.path, params))

    return handle


def test_an_import_that_was_killed_goes_on_where_it_was_and_is_done_once() -> None:
    server, outlet = Server(points()), ListOutlet()
    words = ("--from", str(T_S), "--to", str(T_S + 9000))

    async def use(url: str) -> None:
        args = options("--url", url, *words)
        deliveries = 0

        async def deliver(messages: Any) -> bool:
            nonlocal deliveries
            deliveries += 1
            if deliveries == 2:
                raise KeyboardInterrupt
            outlet.published += [(topic.name, message) for topic, message in messages]
            return True

        killed = ListOutlet()
        killed.deliver = deliver  # type: ignore[method-assign]
        server.have = points(("n1", "n2"), 600)
        with pytest.raises(KeyboardInterrupt):
            await source.serve(args, killed)
        before, sent = len(server.asked), server.sent
        await source.serve(args, outlet)
        assert sum(beat.bytes for beat in outlet.beats) == server.sent - sent > 0
        assert not any(path.endswith("/values") for path, _ in server.asked[before:])
        before = len(server.asked)
        await source.serve(args, outlet)
        assert len(server.asked) == before
        again = ListOutlet()
        await source.serve(options("--url", url, *words, "--restart"), again)
        assert len(again.of(GPU_SCRAPES)) == 1200

    with_server(over_http(server), use)
    for host in ("n1", "n2"):
        assert [s.ts_us for s in outlet.of(GPU_SCRAPES) if s.node == host] == [
            (T_S * 1000 + number * 15_000 + 250) * 1000 for number in range(600)
        ]
    assert all(beat.ok for beat in outlet.beats)
    assert sum(beat.messages for beat in outlet.beats) == 1200 - 2 * FEWEST_POINTS


@pytest.mark.parametrize(
    ("status", "body", "why"),
    [
        (401, b"", "HTTP status 401; give --username"),
        (404, b"page not found", "HTTP status 404: page not found; name the part before /api/v1 too"),
        (302, b"", "it moved to /login"),
        (400, b'{"error":"parse error"}', "HTTP status 400: parse error"),
        (503, b"busy", "HTTP status 503: busy"),
        (200, b"<html>", "not an answer of Prometheus' API"),
        (200, b'{"status":"success","data":["up"]}', "no metric of dcgm-exporter or Megatron there"),
    ],
)
def test_a_server_that_is_none_is_told_with_what_to_do(status: int, body: bytes, why: str) -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        headers = {"Location": "/login"} if status == 302 else {}
        return web.Response(status=status, body=body, headers=headers)

    async def use(url: str) -> None:
        args = options("--url", url, "--from", "1h")
        with pytest.raises(SourceError) as told:
            await source.serve(args, ListOutlet())
        assert why in str(told.value)
        (sight,) = await asyncio.to_thread(lambda: list(source.check(args)))
        assert not sight.ok
        assert why in sight.lacks

    with_server(handle, use)


def test_an_answer_without_end_is_cut_and_one_that_does_not_come_is_given_up() -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        if request.path.endswith("/__name__/values"):
            answer = web.StreamResponse()
            await answer.prepare(request)
            try:
                while True:
                    await answer.write(b" " * (1 << 20))
            except ConnectionError:
                return answer
        await asyncio.Event().wait()
        return web.Response()

    async def use(url: str) -> None:
        with pytest.raises(SourceError, match="more than 64 MiB"):
            await source.serve(options("--url", url, "--from", "1h"), ListOutlet())

    with_server(handle, use)
    with pytest.raises(SourceError, match="Connection refused"):
        asyncio.run(source.serve(options("--url", "http://127.0.0.1:1", "--from", "1h"), ListOutlet()))


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--from", "1h", "--to", "2h"), "--from 1h is not before --to 2h"),
        (("--from", "soon"), "--from soon: write"),
        (("--from", "1h", "--match", "x"), "--match x: write label matchers"),
        (("--from", "1h", "--username", "u"), "--username and --password-file are given together"),
    ],
)
def test_a_mistake_in_the_options_is_named(words: tuple[str, ...], why: str) -> None:
    with pytest.raises(SourceError) as told:
        source.once(options("--url", "http://127.0.0.1:1", *words), ListOutlet())
    assert why in str(told.value)
