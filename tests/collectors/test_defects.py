"""An exception that nobody foresaw, in the parser of each source: told, tried again, and nobody else's trouble."""

import asyncio
import json
import logging
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import collectors.attribution.asking
import collectors.discovery.kubernetes
import collectors.flight_recorder.folder
import collectors.gnmi.stream
import collectors.kubernetes.listing
import collectors.links.file
import collectors.nccl.folder
import collectors.nccl_log.reading
import collectors.nccl_ras.poller
import collectors.prometheus.api
import collectors.slurm.asking
import collectors.snmp.agent
import collectors.sonic.box
import collectors.steps.intake
from collectors.contract.kafka import kafka_settings
from collectors.dcgm.page import PageReader
from collectors.defect import defect
from collectors.infiniband.ufm import Ufm
from collectors.kernel.log import KernelLog
from collectors.nic.host import Nics
from collectors.outlet_log import LogLimit
from collectors.prometheus import importer
from collectors.remote_write import server
from collectors.remote_write.receiver import Receiver
from collectors.sources import load
from collectors.training_log.log import TrainingLog
from tests.collectors.bad_targets import ROWS, options, serving
from tests.collectors.list_outlet import ListOutlet
from tests.collectors.remote_write_bodies import T_MS, scrape, snappy, v1
from tests.collectors.snmp_agent import Agent, serve, switch
from tests.collectors.test_bad_targets import until
from tests.collectors.test_remote_write_server import V1_TYPE, Site
from tests.collectors.test_remote_write_server import serving as receiving


@dataclass
class Break:
    """Whether the parser is broken now."""

    on: bool = False

    def around(self, parse: Callable[..., Any]) -> Callable[..., Any]:
        def broken(*args: Any, **more: Any) -> Any:
            if self.on:
                raise ZeroDivisionError("of ours")
            return parse(*args, **more)

        return broken

    def install(self, monkeypatch: pytest.MonkeyPatch, holder: Any, name: str) -> None:
        monkeypatch.setattr(holder, name, self.around(getattr(holder, name)))


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """A state folder of its own, and no line held back because of an earlier test."""
    monkeypatch.setenv("LOCKSTEP_STATE", str(tmp_path / "state"))
    monkeypatch.setattr(importer, "TRIES", 1)
    kafka_settings.cache_clear()
    logging.getLogger("lockstep.defect").filters.clear()
    yield
    kafka_settings.cache_clear()


def tracebacks(caplog: pytest.LogCaptureFixture) -> int:
    return sum(record.exc_info is not None for record in caplog.records)


def told(outlet: ListOutlet, since: int = 0) -> list[str]:
    return [beat.error or "" for beat in outlet.beats[since:] if not beat.ok]


def is_defect(error: str) -> bool:
    return "defect: ZeroDivisionError: of ours at " in error and "please report it" in error and "\n" not in error


PARSERS: dict[str, tuple[Any, str]] = {
    "dcgm-http": (PageReader, "read"),
    "nccl-ras": (collectors.nccl_ras.poller, "read_answer"),
    "infiniband-ufm": (Ufm, "read"),
    "gnmi": (collectors.gnmi.stream, "take"),
    "sonic-redis": (collectors.sonic.box, "learn"),
    "kubernetes-api": (collectors.kubernetes.listing, "read_pods"),
    "dcgm-kubernetes-discovery": (collectors.discovery.kubernetes, "of_slices"),
    "kubelet-socket": (collectors.attribution.asking, "read_answer"),
}


@pytest.mark.parametrize("row", [row for row in ROWS if row.name in PARSERS], ids=lambda row: row.name)
def test_a_defect_costs_a_sweep_is_told_and_the_next_sweep_is_tried(
    row: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    if row.needs is None:
        pytest.skip(f"a program that {row.name} needs is not installed")
    broken = Break()
    broken.install(monkeypatch, *PARSERS[row.name])

    async def story() -> None:
        async with row.play(tmp_path) as scene:
            beats = scene.outlet.beats

            def of_bad(since: int, ok: bool) -> list[str]:
                return [beat.error or "" for beat in beats[since:] if scene.bad(beat) and beat.ok is ok]

            await until(lambda: bool(of_bad(0, True)), "a good sweep")
            broken.on, begun = True, len(beats)
            scene.proxy.forget()  # what is learned once is learned again
            await until(lambda: sum(map(is_defect, of_bad(begun, False))) >= 2, "two sweeps that fail")
            broken.on, healed = False, len(beats)
            await until(lambda: bool(of_bad(healed, True)), "a good sweep after it")

    asyncio.run(story())
    assert tracebacks(caplog) == 1


def test_a_defect_in_reading_a_switch_over_snmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.collectors.test_bad_agents import asking

    broken, outlet = Break(), ListOutlet()
    broken.install(monkeypatch, collectors.snmp.agent, "read_varbinds")

    async def story() -> None:
        host, port, close = await serve(Agent(switch(2)))
        snmp = load("snmp")
        async with serving(snmp.serve(asking(tmp_path, ("leaf1", host, port)), outlet)):
            await until(lambda: any(beat.ok for beat in outlet.beats), "a good sweep")
            broken.on = True
            await until(lambda: sum(map(is_defect, told(outlet))) >= 2, "two sweeps that fail")
            broken.on, healed = False, len(outlet.beats)
            await until(lambda: any(beat.ok for beat in outlet.beats[healed:]), "a good sweep after it")
        close()

    asyncio.run(story())


def test_an_import_that_meets_a_defect_ends_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken, outlet = Break(on=True), ListOutlet()
    broken.install(monkeypatch, collectors.prometheus.api, "read_names")
    row = next(row for row in ROWS if row.name == "prometheus-history")

    async def story() -> None:
        # The scene's own sources go on for ever; what they raise is looked at in their beats.
        with suppress(AssertionError):
            async with row.play(tmp_path) as scene:
                await until(lambda: bool(told(scene.outlet)), "a failed beat")
                outlet.beats = scene.outlet.beats

    asyncio.run(story())
    assert is_defect(told(outlet)[0])


LINE = "NVRM: Xid (PCI:0000:18:00): 79, pid=1, GPU has fallen off the bus.\n"
FILES: dict[str, tuple[str, str, str, tuple[str, ...], Any, str]] = {
    # source, file, a line or the whole of it, words, what is broken
    "kernel": ("kernel", "log", LINE, ("--file={}/log", "--follow"), KernelLog, "read"),
    "training-log": ("training-log", "log", "a line\n", ("--file={}/log", "--job=j"), TrainingLog, "read"),
    "nccl-log": (
        "nccl-log",
        "log",
        "h:1:2 [0] NCCL INFO comm 0x1 rank 0 nranks 2 cudaDev 0 - Init COMPLETE\n",
        ("--file={}/log", "--job=j", "--follow"),
        collectors.nccl_log.reading,
        "read_line",
    ),
    "nccl-inspector": (
        "nccl-inspector",
        "h-pid1.log",
        "{}\n",
        ("--dir={}", "--job=j"),
        collectors.nccl.folder,
        "read_record",
    ),
    "flight-recorder": (
        "flight-recorder",
        "nccl_trace_rank_0",
        "{}",
        ("--dir={}", "--job=j"),
        collectors.flight_recorder.folder,
        "read_dump",
    ),
    "links": (
        "links",
        "log",
        json.dumps({"device": "leaf1", "port": "1", "far_device": "h", "far_port": "m"}) + "\n",
        ("--file={}/log", "--follow"),
        collectors.links.file,
        "read_map",
    ),
}


@pytest.mark.parametrize("called", FILES)
def test_a_defect_in_a_line_or_file_is_told_and_what_follows_is_read(
    called: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    name, file, text, words, holder, attribute = FILES[called]
    place = tmp_path / "place"
    place.mkdir()
    path = place / file
    if called == "links":
        path.write_text(text)
    broken, outlet, source = Break(), ListOutlet(), load(name)
    broken.install(monkeypatch, holder, attribute)

    def write(rank: int) -> None:
        if called == "flight-recorder":
            (place / f"nccl_trace_rank_{rank}").write_text(text)
        else:
            with path.open("a") as log:
                log.write(text if called != "links" else text.replace('"1"', f'"{rank + 2}"'))

    async def story() -> None:
        async with serving(source.serve(options(name, source, *(word.format(place) for word in words)), outlet)):
            await until(lambda: bool(outlet.beats), "a beat")
            broken.on, begun = True, len(outlet.beats)
            write(0)
            await until(lambda: any(map(is_defect, told(outlet, begun))), "a beat with the defect")
            broken.on, healed = False, len(outlet.beats)
            write(1)
            await until(lambda: any(not is_defect(beat.error or "") for beat in outlet.beats[healed:]), "another beat")

    asyncio.run(story())
    assert tracebacks(caplog) == 1


def test_a_defect_in_a_datagram_of_a_trainer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken, outlet, source, path = Break(on=True), ListOutlet(), load("steps"), tmp_path / "s"
    broken.install(monkeypatch, collectors.steps.intake, "read_datagram")

    async def story() -> None:
        async with serving(source.serve(options("steps", source, f"--socket={path}"), outlet)):
            await until(path.exists, "the socket")
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
                sender.sendto(b"{}", str(path))
            await until(lambda: bool(outlet.rejected), "a rejected datagram")

    asyncio.run(story())
    assert is_defect(outlet.rejected[0][2])
    assert is_defect(told(outlet)[0])


def test_a_defect_in_what_slurm_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    broken, outlet, source = Break(on=True), ListOutlet(), load("slurm")
    broken.install(monkeypatch, collectors.slurm.asking, "read_reply")
    monkeypatch.setitem(collectors.slurm.asking.COMMANDS, "scontrol", ("echo", '{"jobs": []}'))

    async def story() -> None:
        async with serving(source.serve(options("slurm", source), outlet)):
            await until(lambda: sum(map(is_defect, told(outlet))) >= 2, "two sweeps that fail")

    asyncio.run(story())


def test_a_defect_in_reading_this_hosts_interfaces(monkeypatch: pytest.MonkeyPatch) -> None:
    broken, outlet, source = Break(on=True), ListOutlet(), load("nic")
    broken.install(monkeypatch, Nics, "read")

    async def story() -> None:
        async with serving(source.serve(options("nic", source), outlet)):
            await until(lambda: sum(map(is_defect, told(outlet))) >= 2, "two sweeps that fail")

    asyncio.run(story())


@pytest.mark.parametrize(
    ("holder", "name", "status"), [(server, "read_v1", 400), (Receiver, "accept", 503), (server, "within", 400)]
)
def test_a_defect_in_a_body_is_refused_for_good_and_one_after_it_may_come_again(
    holder: Any, name: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, body = Break(on=True), snappy(v1(scrape(T_MS)))
    broken.install(monkeypatch, holder, name)

    async def use(site: Site) -> None:
        answer = await site.post(body, V1_TYPE)
        assert (answer[0], b"defect: ZeroDivisionError" in answer[2]) == (status, True)
        await until(lambda: any(map(is_defect, told(site.outlet))), "a failed beat")
        broken.on = False
        assert (await site.post(body, V1_TYPE))[0] == 204

    outlet = receiving(use, "--interval=0.1")
    assert [is_defect(why) for _, _, why in outlet.rejected] == ([True] if status == 400 else [])


@contextmanager
def limited(caplog: pytest.LogCaptureFixture) -> Iterator[Callable[[float], None]]:
    """The log of defects under a clock of the test's."""
    now_s = [0.0]
    logger = logging.getLogger("lockstep.defect")
    logger.filters.clear()
    logger.addFilter(LogLimit(3600.0, lambda: now_s[0]))
    yield lambda seconds: now_s.__setitem__(0, seconds)
    logger.filters.clear()


def test_the_traceback_of_one_place_is_logged_once_an_hour_whatever_the_target(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(target: str) -> str:
        try:
            raise KeyError(target)
        except KeyError as why:
            return defect(f"dcgm:{target}", why)

    with limited(caplog) as at:
        said = [fail(f"node-{number}") for number in range(100)]
        assert tracebacks(caplog) == 1
        at(3601.0)
        fail("node-7")
    assert tracebacks(caplog) == 2
    assert "99 more like this" in caplog.records[-1].getMessage()
    assert said[5].startswith("defect: KeyError: 'node-5' at test_defects.py:")
