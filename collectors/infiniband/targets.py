"""What the options name, each as something to sweep."""

import argparse
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from collectors.contract.kafka import kafka_settings
from collectors.fabric.host import NearGpus
from collectors.fabric.sweeping import Aside, Swept
from collectors.infiniband.endpoint import Endpoint, context
from collectors.infiniband.fabric import Fabric
from collectors.infiniband.files import FileText, Texts, reader
from collectors.infiniband.host import Host
from collectors.infiniband.names import read_names
from collectors.infiniband.settings import infiniband_settings
from collectors.infiniband.sysfs import CLASS, Sysfs
from collectors.settings import this_node
from collectors.source import SourceError
from collectors.tool import run_tool

FILES = ("perfquery", "ibqueryerrors", "iblinkinfo", "ibnetdiscover", "ibdiagnet")
"""Options that name a text which a tool wrote."""
HOST_TIMEOUT_S = 10.0
"""Counters in firmware take milliseconds; a device that takes longer hangs."""


@dataclass(frozen=True, slots=True)
class Target:
    """One thing to sweep."""

    name: str
    kind: str
    sweep: Callable[[], Awaitable[Swept]]
    timeout_s: float


def targets(args: argparse.Namespace, *, once: bool) -> list[Target]:
    """What the options name; this host's devices where they name nothing else. Raises `SourceError`."""
    names, out = _names(args.names), []
    cluster = kafka_settings().cluster
    for kind in FILES:
        for path in getattr(args, kind):
            out.append(_file(path, kind, Texts(reader(kind, names, args.device), cluster, once), args.timeout))
    for given in args.ufm:
        texts = Texts(reader("ufm", names, None), cluster, once)
        out.append(_ufm(given, texts, args) if "://" in given else _file(Path(given), "ufm", texts, args.timeout))
    if args.sweep:
        out.append(_fabric(args, names, cluster, once=once))
    if args.sysfs is not None or not out:
        out.append(_host(args, cluster, once=once))
    return out


def _names(path: Path | None) -> dict[str, str]:
    if path is None:
        return {}
    try:
        return read_names(path.read_text(errors="replace"))
    except OSError as why:
        raise SourceError(f"--names {path}: {why.strerror}") from why
    except ValueError as why:
        raise SourceError(f"--names {path}: {why}") from why


def _file(path: Path, kind: str, texts: Texts, timeout_s: float) -> Target:
    return Target(str(path), kind, partial(Aside(), FileText(path, texts).read), timeout_s)


def _ufm(url: str, texts: Texts, args: argparse.Namespace) -> Target:
    if not url.startswith(("http://", "https://")):
        raise SourceError(f"--ufm {url}: write http:// or https://, or the name of a file")
    login = infiniband_settings()
    endpoint = Endpoint(
        url=url,
        tls=context(args.ca, insecure=args.insecure),
        username=login.ufm_username,
        password=login.ufm_password,
        timeout_s=args.timeout,
    )
    aside = Aside()

    async def sweep() -> Swept:
        body = await endpoint.fetch()
        ts_us = time.time_ns() // 1000
        return await aside(lambda: texts.swept(body, ts_us))

    return Target(url, "ufm", sweep, 2 * args.timeout)


def _fabric(args: argparse.Namespace, names: dict[str, str], cluster: str, *, once: bool) -> Target:
    options: tuple[str, ...] = ("-C", args.hca) if args.hca else ()
    options += ("-P", str(args.hca_port)) if args.hca_port else ()
    fabric = Fabric(
        run=lambda argv: run_tool(
            [_tool(args.tools, argv[0]), *argv[1:]],
            args.timeout,
            absent="install infiniband-diags, or give its folder with --tools",
            slow="see --timeout",
        ),
        names=names,
        cluster=cluster,
        options=options,
        switches_only=args.switches,
        topology_every_s=args.topology_every,
        keep_ignored=once,
    )
    return Target(f"fabric:{args.hca}" if args.hca else "fabric", "sweep", fabric.sweep, 4 * args.timeout)


def _tool(folder: Path | None, name: str) -> str:
    return name if folder is None else str(folder / name)


def _host(args: argparse.Namespace, cluster: str, *, once: bool) -> Target:
    root = args.sysfs or CLASS
    node = this_node(args.node)
    gpus = NearGpus(node=node, cluster=cluster, kind="hca", gpu_map=args.gpu_map)
    host = Host(tree=Sysfs(root), gpus=gpus, node=node, cluster=cluster, keep_ignored=once)
    aside = Aside()

    async def sweep() -> Swept:
        try:
            return await aside(host.read)
        except FileNotFoundError:
            raise OSError("no such folder, so no RDMA driver is loaded here") from None

    return Target(str(root), "sysfs", sweep, HOST_TIMEOUT_S)
