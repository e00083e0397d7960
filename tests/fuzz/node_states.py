"""What schedulers and sites say of nodes."""

import json
from typing import Any

from collectors.kubernetes.node_states import read_list
from collectors.nodes.file import NodeFileError, read_sheet
from collectors.nodes.listing import NodeListing
from collectors.nodes.serving import tell_once
from collectors.slurm.node_states import read_nodes
from collectors.slurm.reply import ReplyError
from tests.collectors.list_outlet import ListOutlet
from tests.collectors.test_node_states import CSV, SLURM, TOML, kube
from tests.fuzz.parser import Parser

T = 1_767_348_000_000_000


def _told(listing: NodeListing) -> ListOutlet:
    outlet = ListOutlet()
    tell_once(listing, outlet, "fuzz")
    return outlet


def _slurm(raw: bytes) -> Any:
    try:
        return _told(read_nodes([raw], T, "c"))
    except ReplyError:
        return ListOutlet()


def _kubernetes(raw: bytes) -> Any:
    try:
        return _told(read_list(raw, T, "c"))
    except ValueError:
        return ListOutlet()


def _file(raw: bytes) -> Any:
    try:
        return _told(read_sheet(raw.decode(), "f").at(T, "c"))
    except (NodeFileError, UnicodeDecodeError):
        return ListOutlet()


_WORK = {"name": "pm", "flags": ["MAINT"], "node_list": "gpu-[1-2]", "start_time": 1, "end_time": 1_900_000_000}
PARSERS = (
    Parser(
        "slurm-nodes",
        (
            json.dumps({"nodes": [row for row, _ in SLURM], "reservations": [_WORK]}).encode(),
            b'{"sinfo":[{"node":{"state":["IDLE"]},"nodes":{"nodes":["a[1-2]"]},"reason":{"user":"ann"}}]}',
        ),
        _slurm,
    ),
    Parser(
        "kubernetes-nodes", (json.dumps({"items": [kube(cordoned=True), kube(ready="False")]}).encode(),), _kubernetes
    ),
    Parser("node-file", (TOML.encode(), CSV.encode()), _file),
)
