"""`lockstep collect`: read a source into Kafka, or once to standard output."""

import argparse
import sys
from pathlib import Path

from collectors.config_file import Configured, read_config
from collectors.contract.errors import UserError
from collectors.outlet import StdoutOutlet
from collectors.source import SourceError
from collectors.sources import SOURCES, CommandParser, add_process, load


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the sources by name and line only; a source's own options come with its module."""
    parser.add_argument("--config", metavar="FILE", type=Path, help="TOML file that names many sources, a table each")
    parser.set_defaults(once=False, metrics_listen=None, checking=False)
    add_process(parser)
    known = parser.add_subparsers(dest="source", metavar="SOURCE", parser_class=CommandParser, title="sources")
    for name, (_, line) in SOURCES.items():
        known.add_parser(name, source=name, help=line, description=f"Collect {line}.", argument_default=None)
    _add_check(known)


def _add_check(known: "argparse._SubParsersAction[CommandParser]") -> None:
    line = "say of each source what it sees, what it lacks and what to switch on"
    check = known.add_parser("check", source=None, help=line, description=line[0].upper() + line[1:] + ".")
    check.set_defaults(checking=True)
    check.add_argument(
        "--config", metavar="FILE", type=Path, default=argparse.SUPPRESS, help="the sources of this TOML file"
    )
    inner = check.add_subparsers(dest="source", metavar="SOURCE", parser_class=CommandParser, title="or one source")
    for name, (_, line) in SOURCES.items():
        inner.add_parser(name, source=name, help=line, argument_default=None)


def run(args: argparse.Namespace) -> int:
    """Raises `UserError`; returns 0, 1 when a check found something lacking, 2 when `--once` could read nothing."""
    if (args.config is None) == (args.source is None):
        raise SourceError("name one source, or many with --config FILE; `lockstep collect --help` lists them")
    wanted = [Configured(args.source, args)] if args.config is None else read_config(args.config)
    if args.checking:
        from collectors.check import run_check

        return run_check(wanted, sys.stdout)
    if args.once:
        return once(wanted, StdoutOutlet())
    from collectors.service import serve

    return serve(wanted, args.metrics_listen)


def once(wanted: list[Configured], outlet: StdoutOutlet) -> int:
    """Read every source once. One that cannot be read is a line on stderr; 2 when all failed."""
    read = 0
    for source in wanted:
        failures = outlet.failures
        try:
            count = load(source.name).once(source.args, outlet)
        except BrokenPipeError:
            raise  # whoever read our output has gone: no fault of the source
        except (UserError, OSError) as why:
            sys.stderr.write(f"lockstep collect {source.name}: {why}\n")
            continue
        read += count > 0 or outlet.failures == failures
    return 0 if read else 2
