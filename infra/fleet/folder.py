"""The files of a live fleet: kernel logs, Inspector files, and what tells the collectors where all is."""

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from collectors.contract import envelope
from collectors.contract.errors import UserError
from collectors.contract.topics import FABRIC_LINKS
from infra.fleet import inspector, kernel_log
from infra.fleet.calendar import KernelLine
from infra.fleet.job import Job
from infra.fleet.layout import LOSSLESS
from infra.fleet.scenario import Scenario
from infra.fleet.step import Step

MOST_SOCKET_PATH = 100
"""Linux takes 107 bytes for the path of a Unix socket."""
OWN = ("kernel", "nccl", "steps", "fleet.json", "targets.json", "links.jsonl", "collect.toml")


class FolderError(UserError):
    """A folder that the fleet cannot use."""


class Folder:
    """Everything under one directory; what an earlier fleet left there is removed."""

    def __init__(self, root: Path, scenario: Scenario) -> None:
        self.root = root.absolute()
        nodes = scenario.layout.node_names
        longest = max(len(str(self.socket(node)).encode()) for node in nodes)
        if longest > MOST_SOCKET_PATH:
            raise FolderError(f"--dir {root}: too long a path for Unix sockets; choose a shorter one")
        for name in OWN:
            path = self.root / name
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        for name in ("kernel", "nccl", "steps"):
            (self.root / name).mkdir(parents=True)
        self._kernel = {node: self.kernel(node).open("w", buffering=1) for node in nodes}
        self._nccl: dict[str, IO[str]] = {}
        for plan in scenario.jobs:
            self.nccl(plan.name).mkdir()

    def kernel(self, node: str) -> Path:
        """A node's kernel log."""
        return self.root / "kernel" / f"{node}.log"

    def nccl(self, job: str) -> Path:
        """A job's Inspector folder."""
        return self.root / "nccl" / job

    def socket(self, node: str) -> Path:
        """Where the node's step collector listens."""
        return self.root / "steps" / f"{node}.sock"

    def log(self, line: KernelLine) -> None:
        """Append to a node's kernel log."""
        self._kernel[line.node].write(kernel_log.line(line.ts_us, line.node, line.text) + "\n")

    def inspect(self, job: Job, step: Step, silent: Callable[[str, int], bool]) -> None:
        """Append each rank's all-reduce of the step to its process's file; none on a silent node."""
        for row, member in enumerate(step.members):
            if silent(member.slot.node, step.end_us):
                continue
            name = f"{job.plan.name}/{inspector.file_name(job, member)}"
            if name not in self._nccl:
                self._nccl[name] = (self.root / "nccl" / name).open("a", buffering=1)
            self._nccl[name].write(inspector.record(job, step, row) + "\n")

    def leave_processes(self, job: str) -> None:
        """The job's processes are gone: their files are closed, and stay."""
        for name in [name for name in self._nccl if name.startswith(f"{job}/")]:
            self._nccl.pop(name).close()

    def describe(
        self,
        scenario: Scenario,
        start_us: int,
        exporters: dict[str, str],
        switches: dict[str, str],
        cluster: str,
    ) -> Path:
        """Write `targets.json` (file_sd), `links.jsonl` (envelopes), `collect.toml`, and last `fleet.json`."""
        layout = scenario.layout
        links = b"\n".join(envelope.write(FABRIC_LINKS, link) for link in layout.links(cluster, start_us))
        (self.root / "links.jsonl").write_bytes(links + b"\n" if links else b"")
        targets = [{"targets": [address], "labels": {"node": node}} for node, address in exporters.items()]
        (self.root / "targets.json").write_text(json.dumps(targets, indent=1) + "\n")
        (self.root / "collect.toml").write_text(self._collect(scenario, switches))
        about: dict[str, Any] = {
            "scenario": scenario.name,
            "about": scenario.about,
            "cluster": cluster,
            "start_us": start_us,
            "seconds": scenario.seconds,
            "interval_s": scenario.interval_s,
            "targets": str(self.root / "targets.json"),
            "links": str(self.root / "links.jsonl"),
            "collect": str(self.root / "collect.toml"),
            "nodes": [
                {
                    "name": node,
                    "exporter": f"http://{exporters[node]}/metrics",
                    "kernel_log": str(self.kernel(node)),
                    "steps_socket": str(self.socket(node)),
                }
                for node in layout.node_names
            ],
            "switches": [{"name": name, "gnmi": switches[name]} for name in switches],
            "jobs": [
                {"name": plan.name, "nodes": list(plan.nodes), "nccl_dir": str(self.nccl(plan.name))}
                for plan in scenario.jobs
            ],
            "truth": [
                {key: value for key, value in asdict(fault).items() if value not in (None, float("inf"))}
                for fault in scenario.faults
            ],
        }
        path = self.root / "fleet.json"
        half = path.with_suffix(".part")
        half.write_text(json.dumps(about, indent=1) + "\n")
        half.replace(path)
        return path

    def _collect(self, scenario: Scenario, switches: dict[str, str]) -> str:
        """What `lockstep collect --config` needs to read the whole fleet."""
        every = f"interval = {scenario.interval_s}\n"
        parts = [f"[dcgm]\ntargets = {_quoted(self.root / 'targets.json')}\n{every}"]
        if switches:
            named = ", ".join(_quoted(f"{name}={address}") for name, address in switches.items())
            lossless = ",".join(map(str, LOSSLESS))
            parts.append(
                f'[gnmi]\ntarget = [{named}]\npreset = "arista"\nlossless = "{lossless}"\ninsecure = true\n{every}'
            )
            parts.append(f"[links]\nfile = {_quoted(self.root / 'links.jsonl')}\nfollow = true\n{every}")
        for node in scenario.layout.node_names:
            socket, log = _quoted(self.socket(node)), _quoted(self.kernel(node))
            parts.append(f'[[steps]]\nsocket = {socket}\nnode = "{node}"\ninstance = "{node}"\n{every}')
            if scenario.kernel:
                parts.append(f'[[kernel]]\nfile = {log}\nfollow = true\nnode = "{node}"\ninstance = "{node}"\n')
        for plan in scenario.jobs:
            folder, job = _quoted(self.nccl(plan.name)), _quoted(plan.name)
            parts.append(f"[[nccl-inspector]]\ndir = {folder}\njob = {job}\ninstance = {job}\n")
        return "\n".join(parts)

    def close(self) -> None:
        """Close what is open; the files stay for whoever still reads them."""
        for file in (*self._kernel.values(), *self._nccl.values()):
            file.close()


def _quoted(text: object) -> str:
    """A TOML string; JSON's form of one is TOML's too."""
    return json.dumps(str(text))
