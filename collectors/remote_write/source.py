"""`lockstep collect remote-write`: Prometheus, vmagent and the OpenTelemetry Collector push here."""

import argparse
from collections.abc import Iterable
from pathlib import Path

from collectors.source import Outlet, Sight, SourceError

PORT = 9471
LISTEN = f"127.0.0.1:{PORT}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Addresses, who may push, and recorded bodies."""
    parser.add_argument(
        "--listen",
        default=LISTEN,
        metavar="[HOST:]PORT",
        help="where to listen: /api/v1/write and, for OTLP metrics, /v1/metrics (default %(default)s)",
    )
    parser.add_argument(
        "--otlp-grpc", metavar="[HOST:]PORT", help="also listen for OTLP metrics over gRPC (default: not)"
    )
    parser.add_argument(
        "--cluster-label",
        metavar="LABEL",
        help="label that names the GPU cluster of a series (default: all are of LOCKSTEP_CLUSTER)",
    )
    parser.add_argument("--basic-auth-file", type=Path, metavar="FILE", help="only who is in it, USER:PASSWORD a line")
    parser.add_argument("--bearer-token-file", type=Path, metavar="FILE", help="only who has a token of it")
    parser.add_argument("--cert", type=Path, metavar="FILE", help="own certificate for TLS, PEM")
    parser.add_argument("--key", type=Path, metavar="FILE", help="private key of --cert, PEM")
    parser.add_argument("--client-ca", type=Path, metavar="FILE", help="only clients with a certificate of this CA")
    parser.add_argument(
        "--file",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="with --once: a recorded body of remote write 1.0 or 2.0 (snappy) or OTLP; repeatable, in order",
    )


def once(args: argparse.Namespace, outlet: Outlet) -> int:
    """Read recorded bodies. Raises `SourceError`."""
    if not args.file:
        raise SourceError("what is pushed cannot be read once: give --file with a recorded body, or leave --once out")
    from collectors.remote_write.recorded import replay

    return replay(args, outlet)


async def serve(args: argparse.Namespace, outlet: Outlet) -> None:
    """Listen until cancelled. Raises `SourceError`."""
    if args.file:
        raise SourceError("recorded bodies are read with --once")
    from collectors.remote_write.listener import listen

    await listen(args, outlet)


def check(args: argparse.Namespace) -> Iterable[Sight]:
    """What the receiver at `--listen` hears, target by target."""
    from collectors.remote_write.sight import sights

    return sights(args)
