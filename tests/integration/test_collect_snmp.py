"""The real net-snmp agent, read over v2c and v3, killed and started again."""

import asyncio
import dataclasses
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from collectors.contract.fabric import PortScrape
from collectors.contract.topics import FABRIC_SCRAPES
from collectors.snmp.check import check
from collectors.snmp.mib import UPTIME
from collectors.snmp.service import Service
from collectors.snmp.settings import SnmpSettings, snmp_settings
from collectors.snmp.source import add_arguments
from collectors.snmp.target import targets
from collectors.snmp.walk_text import read_walk
from tests.collectors.list_outlet import ListOutlet

SNMPD = shutil.which("snmpd") or shutil.which("snmpd", path="/usr/sbin:/sbin")
pytestmark = pytest.mark.skipif(SNMPD is None, reason="net-snmp is not installed: apt install snmpd snmp")
USERS = {
    "modern": ("SHA-256", "AES"),
    "long": ("SHA-512", "AES"),
    "old": ("MD5", "DES"),
    "middle": ("SHA", "AES"),
    "open": ("SHA-224", None),
}
AUTH, PRIV = "authentic pass", "private pass"
PRESET = '[here]\nread = ["IF-MIB", "EtherLike-MIB"]\ntypes = [6, 24]\n'
"""With the loopback interface, which every machine has."""


class Snmpd:
    """One agent on a free port of loopback, with a configuration and a memory of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        lines = ["rocommunity public 127.0.0.1", f"agentAddress udp:127.0.0.1:{self.port}", "sysName leaf1"]
        for name, (auth, priv) in USERS.items():
            secret = f" {priv} '{PRIV}'" if priv else ""
            lines += [f"createUser {name} {auth} '{AUTH}'{secret}", f"rouser {name} {'priv' if priv else 'auth'}"]
        (folder / "snmpd.conf").write_text("\n".join(lines) + "\n")
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Run it, and wait until it answers."""
        assert SNMPD is not None
        log = self.folder / "log"
        (self.folder / "memory").mkdir(exist_ok=True)
        environment = {**os.environ, "MIBS": "", "SNMP_PERSISTENT_DIR": str(self.folder / "memory")}
        command = [SNMPD, "-f", "-C", "-c", str(self.folder / "snmpd.conf"), "-Lf", str(log), "-I", "-smux"]
        self._process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end_s = time.monotonic() + 20
        while time.monotonic() < end_s:
            assert self._process.poll() is None, log.read_text()[-2000:]
            if log.exists() and "NET-SNMP version" in log.read_text(errors="replace"):
                return
            time.sleep(0.02)
        raise AssertionError("snmpd did not begin")

    def kill(self) -> None:
        """At once, as a crash does it."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None
            (self.folder / "log").unlink(missing_ok=True)


@contextmanager
def snmpd(folder: Path) -> Iterator[Snmpd]:
    agent = Snmpd(folder)
    agent.start()
    try:
        yield agent
    finally:
        agent.kill()


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snmpd]:
    with snmpd(tmp_path_factory.mktemp("snmpd")) as running:
        yield running


@pytest.fixture(autouse=True)
def no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """What this desk's environment holds opens nothing here."""
    for setting in dataclasses.fields(SnmpSettings):
        monkeypatch.delenv(setting.metadata["env"], raising=False)
    snmp_settings.cache_clear()


def options(agent: Snmpd, *more: str) -> Namespace:
    for name, text in (("community", "public"), ("auth", AUTH), ("priv", PRIV), ("presets.toml", PRESET)):
        (agent.folder / name).write_text(text)
    parser = ArgumentParser()
    parser.add_argument("--node")
    parser.add_argument("--interval", type=float, default=15.0)
    add_arguments(parser)
    login = [] if "--user" in more else ["--community-file", str(agent.folder / "community")]
    return parser.parse_args(
        [
            *("--target", f"leaf1=127.0.0.1:{agent.port}", "--timeout", "1"),
            *("--presets", str(agent.folder / "presets.toml"), "--preset", "here"),
            *login,
            *more,
        ]
    )


def as_user(agent: Snmpd, name: str) -> list[str]:
    auth, priv = USERS[name]
    files = ["--auth-password-file", str(agent.folder / "auth")]
    if priv:
        files += ["--priv-protocol", priv, "--priv-password-file", str(agent.folder / "priv")]
    return ["--user", name, "--auth-protocol", auth, *files]


def read(args: Namespace) -> ListOutlet:
    """One sweep."""
    outlet = ListOutlet()

    async def once() -> None:
        service = Service(args, outlet, once=True)
        try:
            for target in targets(args):
                await service.sweep(target)
        finally:
            service.close()

    asyncio.run(once())
    return outlet


def received(port: str) -> int:
    """Bytes, as the kernel counts them."""
    for line in Path("/proc/net/dev").read_text().splitlines()[2:]:
        name, _, rest = line.partition(":")
        if name.strip() == port:
            return int(rest.split()[0])
    raise AssertionError(f"no interface {port}")


def cell(scrape: PortScrape, column: str, port: str) -> int | float | None:
    return scrape.columns[column][[p.name for p in scrape.ports].index(port)]


def test_counters_are_those_of_the_kernel(tmp_path: Path) -> None:
    # An agent of its own: it reads the kernel once at its start and then keeps that for seconds.
    before = received("lo")
    with snmpd(tmp_path) as agent:
        outlet = read(options(agent))
        after = received("lo")
    (scrape,) = outlet.of(FABRIC_SCRAPES)
    (beat,) = outlet.beats
    value = cell(scrape, "port_rx_bytes", "lo")
    assert value is not None and before <= value <= after
    assert (beat.ok, beat.subject, beat.error) == (True, "leaf1", None)
    assert scrape.epoch.startswith("boot:") and scrape.errors == {}
    assert scrape.forms["port_rx_discard_packets"].bits == 32
    assert cell(scrape, "port_oper_state", "lo") == 1


@pytest.mark.parametrize("name", USERS)
def test_every_kind_of_user_reads_the_same_ports(agent: Snmpd, name: str) -> None:
    plain, secret = read(options(agent)), read(options(agent, *as_user(agent, name)))
    (one,), (other,) = plain.of(FABRIC_SCRAPES), secret.of(FABRIC_SCRAPES)
    assert [p.name for p in one.ports] == [p.name for p in other.ports]
    assert one.columns.keys() == other.columns.keys()
    assert secret.beats[0].ok


MODERN = ["--user", "modern", "--auth-protocol", "SHA-256"]
RIGHT, WRONG = ["--auth-password-file", "auth"], ["--auth-password-file", "priv"]


@pytest.mark.parametrize(
    ("login", "why"),
    [
        ([*MODERN, *WRONG], "--auth-protocol is wrong"),
        (["--user", "stranger", *RIGHT], "no such user"),
        ([*MODERN, *RIGHT, "--priv-password-file", "auth", "--timeout", "0.5"], "privacy password may be wrong"),
        ([*MODERN, *RIGHT], "authorizationError"),
        (["--community-file", "auth", "--timeout", "0.3"], "right community"),
    ],
    ids=["password", "user", "privacy", "level", "community"],
)
def test_a_wrong_login_is_told_in_words(
    agent: Snmpd, monkeypatch: pytest.MonkeyPatch, login: list[str], why: str
) -> None:
    monkeypatch.chdir(agent.folder)
    outlet = read(options(agent, *login))
    assert outlet.published == []
    assert [beat.ok for beat in outlet.beats] == [False]
    assert why in (outlet.beats[0].error or "")


@pytest.mark.parametrize("name", [None, "modern"])
def test_an_agent_that_is_killed_and_comes_back_is_read_on_in_another_epoch(tmp_path: Path, name: str | None) -> None:
    with snmpd(tmp_path) as agent:
        args = options(agent, *(as_user(agent, name) if name else []), "--timeout", "1", "--retries", "1")
        outlet = ListOutlet()

        async def follow() -> None:
            service = Service(args, outlet)
            (target,) = targets(args)
            try:
                switch = await service.sweep(target)
                assert switch is not None
                # Two agents of a few milliseconds could not be told apart.
                while not isinstance(old := (await switch.agent.get((UPTIME,)))[0].value, int) or old < 100:
                    await asyncio.sleep(0.05)
                await service.sweep(target, switch)
                agent.kill()
                switch = await service.sweep(target, switch)
                agent.start()
                switch = await service.sweep(target, switch)
                await service.sweep(target, switch)
            finally:
                service.close()

        asyncio.run(follow())
    assert [beat.ok for beat in outlet.beats] == [True, True, False, True, True]
    assert "no answer" in (outlet.beats[2].error or "")
    first, second, third, fourth = outlet.of(FABRIC_SCRAPES)
    assert [p.name for p in first.ports] == [p.name for p in third.ports]
    assert first.epoch == second.epoch != third.epoch == fourth.epoch


def test_the_command_prints_what_the_agents_own_walk_holds(agent: Snmpd) -> None:
    args = options(agent)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "infra.command.main", "collect", "snmp", "--once"),
            *("--target", args.target[0], "--community-file", args.community_file),
            *("--presets", str(args.presets), "--preset", "here"),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    live = json.loads(done.stdout.splitlines()[0])["value"]
    walk = shutil.which("snmpbulkwalk")
    assert walk is not None, "net-snmp's tools are not installed: apt install snmp"
    text = subprocess.run(
        [walk, "-v2c", "-c", "public", "-On", f"127.0.0.1:{agent.port}", ".1.3.6.1.2.1"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    _, bad = read_walk(text)
    assert bad == []
    path = agent.folder / "walk.txt"
    path.write_text(text)
    again = subprocess.run(
        [
            *(sys.executable, "-m", "infra.command.main", "collect", "snmp", "--once", "--file", str(path)),
            *("--presets", str(args.presets), "--preset", "here"),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    told = json.loads(again.stdout.splitlines()[0])["value"]
    assert told["device"] == live["device"] == "leaf1"
    assert [p["name"] for p in told["ports"]] == [p["name"] for p in live["ports"]]
    assert told["columns"].keys() == live["columns"].keys()


def test_a_check_says_what_the_agent_lacks(agent: Snmpd) -> None:
    sights = list(check(options(agent)))
    assert sights[0].ok and "rows" in sights[0].sees
    assert any("PFC" in sight.lacks and not sight.ok for sight in sights)
