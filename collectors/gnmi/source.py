"""`lockstep collect gnmi`: switches over gNMI, or recorded SubscribeResponses."""

import argparse
import os
import tomllib
from collections.abc import Iterable
from pathlib import Path

from collectors.source import Outlet, Sight, SourceError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Targets, subscription, login and TLS."""
    from collectors.settings import collector_settings
    from collectors.sources import seconds

    parser.add_argument(
        "--interval",
        type=seconds,
        default=collector_settings().interval_s,
        metavar="SECONDS",
        help="sample interval asked of the switches; a scrape a switch is published as often (default %(default)g)",
    )
    parser.add_argument(
        "--target",
        action="append",
        default=[],
        metavar="[NAME=]HOST:PORT",
        help="a switch; NAME is what its messages call it (default: HOST); repeatable",
    )
    parser.add_argument(
        "--targets",
        type=Path,
        metavar="FILE",
        help="TOML with a [[target]] table a switch: name, address, preset, lossless, queues, login, TLS",
    )
    parser.add_argument(
        "--preset",
        default="openconfig",
        metavar="NOS",
        help="what to subscribe to: " + ", ".join(_built_in()) + ", or a table of --presets (default openconfig)",
    )
    parser.add_argument(
        "--presets", type=Path, metavar="FILE", help="TOML of your own presets, in the form of the built-in one"
    )
    parser.add_argument(
        "--lossless",
        metavar="P,P",
        help="priorities on which nothing may be dropped, such as 3,4 (default: not told)",
    )
    parser.add_argument(
        "--queue",
        action="append",
        default=[],
        metavar="NAME=N",
        help="number of a queue whose name is none, such as RDMA=3; repeatable",
    )
    parser.add_argument("--insecure", action="store_true", help="plain text: no TLS")
    parser.add_argument("--ca", type=Path, metavar="FILE", help="certificates that sign the switches' own, PEM")
    parser.add_argument("--cert", type=Path, metavar="FILE", help="client certificate for mutual TLS, PEM")
    parser.add_argument("--key", type=Path, metavar="FILE", help="private key of --cert, PEM")
    parser.add_argument("--tls-name", metavar="NAME", help="name in the switch's certificate, where it is not HOST")
    parser.add_argument("--username", metavar="USER", help="login name (default: LOCKSTEP_GNMI_USERNAME)")
    parser.add_argument(
        "--password-file", type=Path, metavar="FILE", help="file with the password (default: LOCKSTEP_GNMI_PASSWORD)"
    )
    parser.add_argument(
        "--keep-ignored", action="store_true", help="keep under `named` also what the counter table says to ignore"
    )
    parser.add_argument(
        "--responses",
        type=Path,
        metavar="FILE",
        help="with --once: recorded SubscribeResponses as JSON, or gnmic's event or json output",
    )
    parser.add_argument(
        "--device", metavar="NAME", help="name of the device in --responses, where the file does not say it"
    )


def once(args: argparse.Namespace, outlet: Outlet) -> int:
    """Read a recording, or the first snapshot of every target. Raises `SourceError`."""
    if args.responses is not None:
        from collectors.gnmi.replay import replay

        return replay(args, outlet)
    import asyncio

    _quiet()
    from collectors.gnmi.service import snapshot

    return asyncio.run(snapshot(args, outlet))


def check(args: argparse.Namespace) -> Iterable[Sight]:
    """What the first snapshot of every target shows, and what detection lacks there."""
    import asyncio

    _quiet()
    from collectors.gnmi.check import look_at
    from collectors.gnmi.target import targets

    return asyncio.run(look_at(targets(args), args.interval))


async def serve(args: argparse.Namespace, outlet: Outlet) -> None:
    """Read every target until cancelled. Raises `SourceError`."""
    if args.responses is not None:
        raise SourceError("a recording is read with --once")
    _quiet()
    from collectors.gnmi.service import serve as serve_targets

    await serve_targets(args, outlet)


def _built_in() -> list[str]:
    """Names of the presets that come with it; the file alone, because reading presets loads protobuf."""
    return list(tomllib.loads(Path(__file__).with_name("presets.toml").read_text()))


def _quiet() -> None:
    """Before gRPC is loaded: its core writes a line to stderr for each connection that ends; beats say it too."""
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
