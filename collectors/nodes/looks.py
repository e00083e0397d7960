"""The three places that know nodes: Slurm, Kubernetes, a file. Each as a function that looks once."""

import json
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from collectors.contract.kafka import kafka_settings
from collectors.nodes.file import NodeFileError, read_sheet
from collectors.nodes.listing import NodeListing
from collectors.source import SourceError
from collectors.whole_file import read_whole

MOST_BYTES = 512 << 20
Look = Callable[[], NodeListing]


def slurm(rack: re.Pattern[str] | None) -> Look:
    """Asks `scontrol`."""
    from collectors.slurm.asking import run_command
    from collectors.slurm.node_states import COMMANDS, read_nodes
    from collectors.slurm.reply import ReplyError

    def look() -> NodeListing:
        try:
            raws = [run_command(command) for command in COMMANDS]
            return read_nodes(raws, time.time_ns() // 1000, kafka_settings().cluster, rack)
        except ReplyError as why:
            raise SourceError(f"scontrol: {why}") from why

    return look


def kubernetes(kubeconfig: Path | None, labels: Sequence[str]) -> Look:
    """Asks the API server."""
    from collectors.kubernetes.node_states import RACK_LABELS, nodes_of

    return nodes_of(kubeconfig, kafka_settings().cluster, lambda: time.time_ns() // 1000, (*labels, *RACK_LABELS))


def files(paths: Sequence[Path], rack: re.Pattern[str] | None, labels: Sequence[str]) -> Look:
    """Saved answers of a scheduler, told as of when they were written, or a site's own file, as of now."""

    def look() -> NodeListing:
        read = [(str(path), *read_whole(path, MOST_BYTES)) for path in paths]
        answers = [(where, raw, ts_us) for where, raw, ts_us in read if raw.lstrip()[:1] == b"{"]
        if answers and len(answers) < len(read):
            raise SourceError("give a site's own file in a process of its own: each source has its own word on a node")
        found = [_answers(answers, rack, labels)] if answers else []
        found += [_sheet(where, raw) for where, raw, ts_us in read if raw.lstrip()[:1] != b"{"]
        states = {node: state for listing in found for node, state in listing.states.items()}
        unread = tuple(why for listing in found for why in listing.unread)
        return NodeListing(states, all(one.complete for one in found), unread, sum(len(raw) for _, raw, _ in read))

    return look


def _answers(
    answers: Sequence[tuple[str, bytes, int]], rack: re.Pattern[str] | None, labels: Sequence[str]
) -> NodeListing:
    from collectors.kubernetes.node_states import RACK_LABELS, items, looks_like, read_nodes
    from collectors.slurm import node_states as of_slurm
    from collectors.slurm.reply import ReplyError

    cluster = kafka_settings().cluster
    rows, slurms, ts_us = [], [], 0
    for where, raw, written_us in answers:
        ts_us = max(ts_us, written_us)
        try:
            document = json.loads(raw)
        except (ValueError, RecursionError) as why:
            raise SourceError(f"{where}: not JSON: {why}") from why
        if of_slurm.looks_like(document):
            slurms.append((where, raw))
        elif looks_like(document):
            rows += items(document)
        else:
            raise SourceError(
                f"{where}: no list of nodes; save `scontrol show nodes --json` or `kubectl get nodes -o json`"
            )
    try:
        found = of_slurm.read_nodes([raw for _, raw in slurms], ts_us, cluster, rack)
    except ReplyError as why:
        raise SourceError(f"{', '.join(where for where, _ in slurms)}: {why}") from why
    if rows and slurms:
        raise SourceError("give Slurm's and Kubernetes' answers apart: each has its own word on a node")
    listed = read_nodes(rows, ts_us, cluster, (*labels, *RACK_LABELS))
    return found if slurms else listed


def _sheet(where: str, raw: bytes) -> NodeListing:
    try:
        return read_sheet(raw.decode("utf-8-sig"), where).at(time.time_ns() // 1000, kafka_settings().cluster)
    except UnicodeDecodeError as why:
        raise SourceError(f"{where}: not UTF-8 text: {why.reason}") from why
    except NodeFileError as why:
        raise SourceError(str(why)) from why
