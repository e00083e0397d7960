"""A simulated InfiniBand fabric: Debian's ibsim, opensm and the real infiniband-diags on top."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

NET = """Switch 8 "MF0;leaf-1:MQM9700/U1"
[1] "node-01 mlx5_0"[1]
[2] "node-02 mlx5_0"[1]
[3] "MF0;leaf-2:MQM9700/U1"[3]

Switch 8 "MF0;leaf-2:MQM9700/U1"
[1] "node-01 mlx5_1"[1]
[2] "node-02 mlx5_1"[1]
[3] "MF0;leaf-1:MQM9700/U1"[3]

Hca 1 "node-01 mlx5_0"
[1] "MF0;leaf-1:MQM9700/U1"[1]

Hca 1 "node-02 mlx5_0"
[1] "MF0;leaf-1:MQM9700/U1"[2]

Hca 1 "node-01 mlx5_1"
[1] "MF0;leaf-2:MQM9700/U1"[1]

Hca 1 "node-02 mlx5_1"
[1] "MF0;leaf-2:MQM9700/U1"[2]
"""
LEAF_1 = "MF0;leaf-1:MQM9700/U1"
PROGRAMS = ("ibsim", "ibsim-run", "opensm", "ibqueryerrors", "iblinkinfo", "ibnetdiscover", "perfquery")
UP_S = 20.0
"""The subnet comes up within half a second on an idle machine."""


def path() -> str:
    """Debian puts these tools where only root's PATH leads."""
    return f"{os.environ['PATH']}:/usr/sbin:/sbin"


def absent() -> list[str]:
    """Programs that are not installed."""
    return [name for name in PROGRAMS if shutil.which(name, path=path()) is None]


def library() -> str:
    """What a program must load to reach the simulator in place of /dev/infiniband."""
    script = shutil.which("ibsim-run", path=path())
    assert script is not None
    told = Path(script).read_text()
    return told.partition("sim_so=")[2].partition("\n")[0]


@dataclass(slots=True)
class SimulatedFabric:
    """Commands for its console, and the environment in which tools see it."""

    console: "subprocess.Popen[bytes]"
    env: Mapping[str, str]
    folder: Path

    def say(self, command: str) -> None:
        """One command, until the console has answered it."""
        before = self.answers()
        assert self.console.stdin is not None
        self.console.stdin.write(command.encode() + b"\n")
        self.console.stdin.flush()
        _wait(lambda: self.answers() > before, f"no answer to {command}")

    def answers(self) -> int:
        """Lines that the console said of counters."""
        return (self.folder / "ibsim.out").read_bytes().count(b"has been set")


@contextmanager
def simulated_fabric(folder: Path, *, manager: bool = True) -> Iterator[SimulatedFabric]:
    """Ended with the block. Without a `manager` no subnet manager answers."""
    (folder / "net").write_text(NET)
    env = {
        **os.environ,
        "PATH": path(),
        "IBSIM_SOCKNAME": f"sim-{os.getpid()}-{time.monotonic_ns()}",
        "SIM_HOST": LEAF_1,
        "OSM_TMP_DIR": str(folder),
        "OSM_CACHE_DIR": str(folder),
    }
    with (folder / "ibsim.out").open("wb") as told:
        console = subprocess.Popen(
            ["ibsim", "-s", "net"], cwd=folder, env=env, stdin=subprocess.PIPE, stdout=told, stderr=subprocess.STDOUT
        )
    env["LD_PRELOAD"] = library()
    opensm: subprocess.Popen[bytes] | None = None
    try:
        _wait(lambda: b"simulator ready" in (folder / "ibsim.out").read_bytes(), "ibsim does not start")
        if manager:
            log = folder / "opensm.log"
            with (folder / "opensm.out").open("wb") as told:
                opensm = subprocess.Popen(
                    ["opensm", "-d2", "-f", str(log)], cwd=folder, env=env, stdout=told, stderr=subprocess.STDOUT
                )
            _wait(lambda: log.exists() and b"SUBNET UP" in log.read_bytes(), "opensm does not bring the subnet up")
        yield SimulatedFabric(console, env, folder)
    finally:
        for process in (opensm, console):
            if process is not None:
                process.kill()
                process.wait()


def _wait(so: Callable[[], bool], words: str) -> None:
    end_s = time.monotonic() + UP_S
    while not so():
        if time.monotonic() > end_s:
            raise TimeoutError(words)
        time.sleep(0.02)
