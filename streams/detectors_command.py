"""`lockstep detectors`: which detectors there are, their limits, and where the numbers come from."""

import argparse
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from collectors.contract.errors import UserError
from streams.detectors.all import Choice


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which file, and the form of the output."""
    add_config(parser)
    parser.add_argument("names", nargs="*", metavar="DETECTOR", help="only these sections (default: all)")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--toml", action="store_true", help="a whole limits file with the sources as comments, to edit")
    form.add_argument("--json", action="store_true", help="one JSON object a line")


def add_config(parser: argparse.ArgumentParser) -> None:
    """The option that every command with detectors has."""
    parser.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="limits file (TOML); `lockstep detectors --toml` writes one (default: LOCKSTEP_DETECTORS, else built in)",
    )


def add_names(parser: argparse.ArgumentParser) -> None:
    """The option of commands that may run some of them only."""
    parser.add_argument("--detectors", metavar="A,B", help="only these sections of the limits file, comma separated")


def chosen(config: Path | None, names: str | None = None) -> dict[str, Choice]:
    """What to run: by the file of the option, else of the setting. Raises `UserError`."""
    from streams.limits import load
    from streams.settings import stream_settings

    path = config or (Path(text) if (text := stream_settings().detectors) else None)
    choices = load(path) if path is not None else {}
    return choices if names is None else _only(choices, [name for name in names.split(",") if name])


def run(args: argparse.Namespace) -> int:
    """Print the limits. Status 2 for a file that cannot be used."""
    from streams.limits import SECTIONS
    from streams.limits_listing import about, rows, toml

    choices = chosen(args.config)
    _known(args.names, SECTIONS)
    if args.toml:
        sys.stdout.write(toml(choices))
        return 0
    listed = [row for row in rows(choices) if not args.names or row.table.partition(".")[0] in args.names]
    if args.json:
        for row in listed:
            sys.stdout.write(json.dumps({name: getattr(row, name) for name in row.__slots__}) + "\n")
        return 0
    table = ""
    for row in listed:
        if row.table != table:
            sys.stdout.write(("\n" if table else "") + f"[{row.table}]\n")
            table = row.table
            if table in SECTIONS:
                sys.stdout.write(f"  {about(type(SECTIONS[table]()))}\n")
        changed = "" if row.value == row.default else f"   (default {row.default})"
        sys.stdout.write(f"  {row.name} = {row.value}{changed}\n")
        if row.source:
            sys.stdout.write(f"      {row.source}\n")
    return 0


def _only(choices: Mapping[str, Choice], names: Sequence[str]) -> dict[str, Choice]:
    from streams.detectors.all import SPECS

    sections = {spec.section: spec for spec in SPECS}
    _known(names, sections)
    off = {
        section: replace(choices.get(section) or Choice(limits=spec.limits()), on=False)
        for section, spec in sections.items()
        if section not in names
    }
    return {**choices, **off}


def _known(names: Sequence[str], sections: Iterable[str]) -> None:
    for name in names:
        if name not in sections:
            raise UserError(f"no detector {name!r}; there is {', '.join(sections)}")
