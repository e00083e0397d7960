"""Where a demo keeps things, and the collectors' configuration cut into one file a process."""

import json
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Beside the source's own name: sources that share a process.
PROCESSES = {
    "dcgm": ("dcgm",),
    "kernel": ("kernel",),
    "steps": ("steps",),
    "nccl": ("nccl-inspector",),
    "gnmi": ("gnmi",),
    "links": ("links",),
}


@dataclass(frozen=True)
class Places:
    """Folders of one run."""

    state: Path
    """`LOCKSTEP_STATE` of every part; stays for `lockstep sql` and `lockstep report`."""
    fleet: Path
    """Sockets and logs of the fleet, at a short path: Unix sockets allow about 100 characters."""

    @property
    def logs(self) -> Path:
        """What the parts said."""
        return self.state / "logs"


def places(state: Path) -> Places:
    """Places under a state folder; the fleet's is new and temporary."""
    return Places(state.absolute(), Path(tempfile.mkdtemp(prefix="lockstep-fleet-")))


def split_config(collect: Path, folder: Path) -> dict[str, Path]:
    """Write one TOML file a collector process from the fleet's; returns process -> file."""
    document = tomllib.loads(collect.read_text())
    folder.mkdir(parents=True, exist_ok=True)
    out: dict[str, Path] = {}
    for process, sources in PROCESSES.items():
        tables = [(source, table) for source in sources for table in _tables(document.get(source, []))]
        if tables:
            out[process] = folder / f"{process}.toml"
            out[process].write_text("\n".join(_toml(source, table) for source, table in tables))
    return out


def _tables(found: Any) -> list[dict[str, Any]]:
    return found if isinstance(found, list) else [found]


def _toml(source: str, table: dict[str, Any]) -> str:
    # JSON writes strings, numbers, booleans and lists of them as TOML reads them.
    lines = "\n".join(f"{key} = {json.dumps(value)}" for key, value in table.items())
    return f"[[{source}]]\n{lines}\n"
