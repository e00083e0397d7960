"""`lockstep collect snmp`: switches over SNMP v2c and v3, or the text of a walk."""

import argparse
from collections.abc import Iterable
from pathlib import Path

from collectors.source import Outlet, Sight, SourceError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Targets, what to read, and how the agents are opened."""
    from collectors.sources import seconds

    parser.add_argument(
        "--target",
        action="append",
        default=[],
        metavar="[NAME=]HOST[:PORT]",
        help="a switch; NAME is what its messages call it (default: HOST); repeatable",
    )
    parser.add_argument(
        "--targets",
        type=Path,
        metavar="FILE",
        help="TOML with a [[target]] table a switch: name, address, preset, lossless, and the login options below",
    )
    parser.add_argument(
        "--preset",
        default="standard",
        metavar="NAME",
        help="what to read: standard, mellanox, cumulus or sonic, or a table of --presets (default %(default)s)",
    )
    parser.add_argument(
        "--presets", type=Path, metavar="FILE", help="TOML of your own presets and objects, in the built-in one's form"
    )
    parser.add_argument("--lossless", metavar="P,P", help="priorities on which nothing may be dropped, such as 3,4")
    login = parser.add_argument_group("login", "secrets come from the environment or from files, never as options")
    login.add_argument(
        "--community-file", metavar="FILE", help="v2c: file with the community (default: LOCKSTEP_SNMP_COMMUNITY)"
    )
    login.add_argument("--user", metavar="NAME", help="v3: the user")
    login.add_argument(
        "--auth-protocol", metavar="NAME", help="MD5, SHA, SHA-224, SHA-256, SHA-384, SHA-512 (default SHA)"
    )
    login.add_argument(
        "--auth-password-file", metavar="FILE", help="authentication password (default: LOCKSTEP_SNMP_AUTH_PASSWORD)"
    )
    login.add_argument(
        "--priv-protocol",
        metavar="NAME",
        help="AES, DES, AES-192, AES-256, or Cisco's AES-192-C, AES-256-C (default AES)",
    )
    login.add_argument(
        "--priv-password-file", metavar="FILE", help="privacy password (default: LOCKSTEP_SNMP_PRIV_PASSWORD)"
    )
    login.add_argument("--context", metavar="NAME", help="v3 context, where the agent has more than one")
    parser.add_argument(
        "--timeout", type=seconds, default=2.0, metavar="SECONDS", help="wait for one answer (default %(default)g)"
    )
    parser.add_argument("--retries", type=_count, default=2, metavar="N", help="more tries after that (default 2)")
    parser.add_argument(
        "--varbinds",
        type=_varbinds,
        default=100,
        metavar="N",
        help="most values asked for at once; fewer where large answers are lost on the way (default 100)",
    )
    parser.add_argument(
        "--file",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="with --once: the text of `snmpwalk -On` or `snmpbulkwalk -On`; repeatable; - is stdin",
    )
    parser.add_argument(
        "--device", metavar="NAME", help="name of the switch in --file (default: its sysName, else the file's name)"
    )


def once(args: argparse.Namespace, outlet: Outlet) -> int:
    """Read the walks, or every switch once. Raises `SourceError`."""
    if args.file:
        from collectors.snmp.recorded import replay

        return replay(args, outlet)
    import asyncio

    from collectors.snmp.service import snapshot

    return asyncio.run(snapshot(args, outlet))


def check(args: argparse.Namespace) -> Iterable[Sight]:
    """What every switch shows, and what it lacks."""
    from collectors.snmp.check import check as look

    return look(args)


async def serve(args: argparse.Namespace, outlet: Outlet) -> None:
    """Read every switch until cancelled. Raises `SourceError`."""
    if args.file:
        raise SourceError("a walk is read with --once")
    from collectors.snmp.service import serve as serve_targets

    await serve_targets(args, outlet)


def _count(text: str) -> int:
    value = int(text)
    if not 0 <= value <= 10:
        raise argparse.ArgumentTypeError(f"{text} is not from 0 to 10")
    return value


def _varbinds(text: str) -> int:
    value = int(text)
    if not 8 <= value <= 1000:
        raise argparse.ArgumentTypeError(f"{text} is not from 8 to 1000")
    return value
