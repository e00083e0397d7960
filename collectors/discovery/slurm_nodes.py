"""The nodes of a Slurm cluster: written as a hostlist, or asked of `sinfo`."""

import asyncio
import shutil
from collections.abc import Callable

from collectors.discovery.discovery import MOST, Found
from collectors.discovery.hostlist import HostlistError, expand
from collectors.source import SourceError
from collectors.tool import run_tool

WAIT_S = 10.0
FORM = "%N|%o|%G"
"""Node name, the address it is reached at, generic resources."""


class SlurmNodes:
    """A hostlist that never changes."""

    def __init__(self, text: str) -> None:
        """Raises `SourceError`."""
        self.name = f"slurm:{text}"
        try:
            self._found = [Found(node, node=node) for node in expand(text, MOST)]
        except HostlistError as why:
            raise SourceError(f"--slurm-nodes {why}") from why
        if not self._found:
            raise SourceError("--slurm-nodes: write a hostlist such as gpu[001-128], or sinfo")

    def find(self) -> list[Found]:
        """As in `Discovery`."""
        return self._found


class SinfoNodes:
    """Nodes that have GPUs, drained and dead ones too: their silence is what has to be seen."""

    def __init__(self, partition: str | None, run: Callable[[list[str]], str] | None = None) -> None:
        self.name = "slurm:sinfo" + (f":{partition}" if partition else "")
        self._command = ["sinfo", "--noheader", "--Node", f"--format={FORM}"]
        if partition:
            self._command.append(f"--partition={partition}")
        self._run = run or _run

    def find(self) -> list[Found]:
        """As in `Discovery`."""
        found: dict[str, Found] = {}
        for line in self._run(self._command).splitlines():
            name, _, rest = line.strip().partition("|")
            address, _, resources = rest.partition("|")
            if name and "gpu" in resources:
                found[name] = Found(address or name, node=name)
        if not found:
            raise SourceError("sinfo shows no node with a gpu among its generic resources; name them: gpu[001-128]")
        if len(found) > MOST:
            raise SourceError(f"sinfo shows more than {MOST} nodes; name a partition: sinfo:PARTITION")
        return list(found.values())


def slurm_nodes(text: str) -> SlurmNodes | SinfoNodes:
    """`gpu[001-128]`, `sinfo` or `sinfo:PARTITION`. Raises `SourceError`."""
    word, _, partition = text.partition(":")
    return SinfoNodes(partition or None) if word == "sinfo" else SlurmNodes(text)


def _run(command: list[str]) -> str:
    if shutil.which(command[0]) is None:
        raise SourceError("there is no `sinfo` here; write the nodes: --slurm-nodes 'gpu[001-128]'")
    try:
        # In this thread, which may wait. It ends with all that the command started, and reads no more than it may.
        done = asyncio.run(run_tool(command, WAIT_S))
    except OSError as why:
        raise SourceError(str(why)) from why
    if done.status:
        said = done.err.decode("utf-8", "replace").strip().partition("\n")[0] or f"exit status {done.status}"
        raise SourceError(said if said.startswith("sinfo") else f"sinfo: {said}")
    return done.out.decode("utf-8", "replace")
