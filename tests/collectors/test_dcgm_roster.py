"""Targets come and go as discoveries tell; one that fails changes nothing and says why."""

import asyncio
import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from collectors.dcgm import source
from collectors.dcgm.roster import Roster, discoveries
from collectors.discovery.discovery import Found
from collectors.source import SourceError
from tests.collectors.dcgm_options import options
from tests.collectors.exporter import PAGE, plain, serving
from tests.collectors.kubernetes_api import api_server
from tests.collectors.list_outlet import ListOutlet
from tests.collectors.test_discovery_kubernetes import endpoint, slices

Reported = list[tuple[str, str | None]]


class Told:
    """A discovery whose answers are given, one after the other."""

    def __init__(self, *answers: list[Found] | str) -> None:
        self.name = "told"
        self._answers = list(answers)

    def find(self) -> list[Found]:
        answer = self._answers.pop(0)
        if isinstance(answer, str):
            raise SourceError(answer)
        return answer


def made(asked: Told, *words: str) -> tuple[Roster, Reported]:
    said: Reported = []
    return Roster(options(*words), [asked], lambda name, took_s, error: said.append((name, error))), said


def test_a_discovery_that_fails_keeps_the_last_targets_and_tells_why() -> None:
    async def run() -> list[list[str]]:
        found = []
        for _ in range(3):
            await listed.ask_all()
            found.append(list(listed.targets()))
        return found

    listed, said = made(Told([Found("a")], "the API is away", [Found("b"), Found("c", 80)]))
    assert asyncio.run(run()) == [
        ["http://a:9400/metrics"],
        ["http://a:9400/metrics"],
        ["http://b:9400/metrics", "http://c:80/metrics"],
    ]
    assert said == [("told", None), ("told", "the API is away"), ("told", None)]


def test_port_scheme_and_node_of_what_is_found() -> None:
    listed, _ = made(Told([Found("10.0.0.1", node="gpu-1"), Found("fd00::1", 9)]), "--port", "9999", "--https")
    asyncio.run(listed.ask_all())
    assert [(name, target.node) for name, target in listed.targets().items()] == [
        ("https://10.0.0.1:9999/metrics", "gpu-1"),
        ("https://[fd00::1]:9/metrics", None),
    ]


def test_a_target_that_is_named_by_hand_and_found_is_one() -> None:
    listed, _ = made(Told([Found("a", node="gpu-1"), Found("b")]), "--target", "a")
    asyncio.run(listed.ask_all())
    assert sorted(listed.targets()) == ["http://a:9400/metrics", "http://b:9400/metrics"]


def test_more_places_than_a_fleet_has_are_a_mistake() -> None:
    listed, said = made(Told([Found(f"n{n}") for n in range(50_001)]))
    asyncio.run(listed.ask_all())
    assert (listed.targets(), said) == ({}, [("told", "more than 50000 targets")])


def test_a_look_that_hangs_is_said_and_not_begun_again() -> None:
    gate, looks = threading.Event(), []

    class Hanging(Told):
        def find(self) -> list[Found]:
            looks.append(1)
            gate.wait(60)
            return [Found("a")]

    async def run() -> None:
        await listed.ask_all()
        await listed.ask_all()
        gate.set()
        while not listed.targets():
            await listed.ask_all()

    said: Reported = []
    listed = Roster(options(), [Hanging()], lambda name, took_s, error: said.append((name, error)), 0.05)
    asyncio.run(run())
    assert said[:2] == [("told", "no answer within 0.05 s")] * 2
    assert len(looks) == 1


def test_options_that_find_targets_are_read_before_anything_is_asked(tmp_path: Path) -> None:
    names = [
        one.name
        for one in discoveries(
            options("--dns-srv", "_a._tcp.x", "--slurm-nodes", "gpu[1-2]", "--slurm-nodes", "sinfo:train")
        )
    ]
    assert names == ["dns-srv:_a._tcp.x", "slurm:gpu[1-2]", "slurm:sinfo:train"]
    with pytest.raises(SourceError, match="write NAMESPACE/SERVICE"):
        discoveries(options("--kubernetes", "x"))


def test_pods_that_kubernetes_names_are_read_and_a_new_one_is_followed(tmp_path: Path) -> None:
    """A pod that shows itself as the host is known by the node that the API tells."""
    outlet, pods = ListOutlet(), [endpoint(1, "127.0.0.1")]
    shown = PAGE.replace("node-a", "dcgm-exporter-x7kq2")

    async def until(done: Callable[[], bool]) -> None:
        while not done():
            await asyncio.sleep(0.01)

    def nodes() -> set[str]:
        return {message.node for _, message in outlet.published}  # type: ignore[attr-defined]

    async def run() -> None:
        async with serving(lambda _: plain(shown)) as exporter:
            with api_server(lambda path, query: (200, slices(("IPv4", pods))), tmp_path) as config:
                service = f"gpu-operator/nvidia-dcgm-exporter:{exporter.port}"
                words = ["--kubernetes", service, "--kubeconfig", str(config), "--find-every", "0.05"]
                task = asyncio.create_task(source.serve(options(*words), outlet))
                async with asyncio.timeout(60.0):
                    await until(lambda: nodes() == {"gpu-1"})
                    pods[:] = [endpoint(2, "127.0.0.1")]
                    await until(lambda: nodes() == {"gpu-1", "gpu-2"})
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    asyncio.run(run())
    assert any(beat.target.startswith("kubernetes:") and beat.ok for beat in outlet.beats if beat.target)


def test_a_site_that_finds_nothing_at_first_is_served_once_it_does(tmp_path: Path) -> None:
    outlet, status = ListOutlet(), [503]

    async def run() -> None:
        async with serving(lambda _: plain(PAGE)) as exporter:
            answer = slices(("IPv4", [endpoint(1, "127.0.0.1")]))
            with api_server(lambda path, query: (status[0], answer), tmp_path) as config:
                service = f"gpu-operator/x:{exporter.port}"
                words = ["--kubernetes", service, "--kubeconfig", str(config), "--find-every", "0.05"]
                task = asyncio.create_task(source.serve(options(*words), outlet))
                async with asyncio.timeout(60.0):
                    while not outlet.beats:
                        await asyncio.sleep(0.01)
                    status[0] = 200
                    while not outlet.published:
                        await asyncio.sleep(0.01)
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    asyncio.run(run())
    assert not outlet.beats[0].ok
    assert "HTTP status 503" in str(outlet.beats[0].error)


def test_a_list_that_names_targets_and_nodes_is_united_with_the_others(tmp_path: Path) -> None:
    path = tmp_path / "targets.json"
    path.write_text(json.dumps([{"targets": ["a"], "labels": {"node": "gpu-a"}}]))
    listed, _ = made(Told([Found("b")]), "--targets", str(path), "--target", "c")
    asyncio.run(listed.ask_all())
    assert [target.node for target in listed.targets().values()] == [None, "gpu-a", None]
