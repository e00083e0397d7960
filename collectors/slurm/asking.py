"""Slurm's own commands, asked for JSON."""

import asyncio
import shutil
from collections.abc import Callable
from dataclasses import replace

from collectors.placement.listing import Listing
from collectors.slurm.reply import ReplyError, read_reply
from collectors.source import SourceError
from collectors.tool import run_tool

WAIT_S = 30.0
MAX_BYTES = 512 << 20

COMMANDS: dict[str, tuple[str, ...]] = {
    "scontrol": ("scontrol", "show", "job", "--json"),
    "squeue": ("squeue", "--json", "--states=all"),
    "sacct": ("sacct", "--json", "--allusers", "--starttime=now-1hour"),
}
"""`scontrol` knows the indexes of GPUs, and jobs for MinJobAge after their end. `sacct` knows every end, no index."""

Run = Callable[[tuple[str, ...]], bytes]


def ask(name: str, run: Run) -> Listing:
    """Raises `SourceError` naming the command."""
    try:
        raw = run(COMMANDS[name])
        listing = replace(read_reply(raw), size=len(raw))
    except ReplyError as why:
        raise SourceError(f"{name}: {why}") from why
    if name == "sacct":
        # It lists what ran within the hour, by what its database has heard: a job that is not there may still run.
        return replace(listing, complete=False)
    return listing


def run_command(command: tuple[str, ...]) -> bytes:
    """Its output. Raises `SourceError`."""
    name = command[0]
    if shutil.which(name) is None:
        raise SourceError(f"there is no `{name}` here; run where Slurm's client commands are, or give --file F")
    try:
        # In this thread, which may wait. It ends with all that the command started, and reads no more than it may.
        done = asyncio.run(run_tool(list(command), WAIT_S, MAX_BYTES))
    except OSError as why:
        raise SourceError(str(why)) from why
    if done.status:
        said = done.err.decode("utf-8", "replace").strip().partition("\n")[0].removeprefix(f"{name}: ")
        hint = "; --json needs Slurm 21.08 or newer with its JSON plug-in" if "json" in said.lower() else ""
        raise SourceError(f"{name}: {said or f'exit status {done.status}'}{hint}")
    return done.out
