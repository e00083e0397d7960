"""A TOML file that names many sources: one table each, or an array of tables, with option names as keys."""

import argparse
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from collectors.source import SourceError
from collectors.sources import SOURCES, SourceParser
from collectors.twins import tell_apart


@dataclass(frozen=True, slots=True)
class Configured:
    """One source with its options."""

    name: str
    args: argparse.Namespace


class _TableParser(SourceParser):
    def error(self, message: str) -> NoReturn:
        raise SourceError(message.removeprefix("argument --"))


def read_config(path: Path) -> list[Configured]:
    """Raises `SourceError` naming the file, the table and the key."""
    try:
        document = tomllib.loads(path.read_text())
    except OSError as why:
        raise SourceError(f"{path}: {why.strerror}") from why
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as why:
        raise SourceError(f"{path}: not TOML: {why}") from why
    if not document:
        raise SourceError(f"{path}: no source in it; write a table such as [dcgm]")
    out: list[Configured] = []
    for name, found in document.items():
        if name not in SOURCES:
            raise SourceError(f"{path}: [{name}]: no such source; there are {', '.join(SOURCES)}")
        parsed: list[argparse.Namespace] = []
        tables = found if isinstance(found, list) else [found]
        for number, table in enumerate(tables, start=1):
            where = f"{path}: [{name}]" if len(tables) == 1 else f"{path}: [[{name}]] number {number}"
            if not isinstance(table, dict):
                raise SourceError(f"{path}: {name}: write a table [{name}] with the options as keys")
            parsed.append(_parse(name, table, where))
        tell_apart(f"{path}: [[{name}]]", parsed)
        out += (Configured(name, args) for args in parsed)
    return out


def _parse(name: str, table: dict[str, Any], where: str) -> argparse.Namespace:
    parser = _TableParser(prog=name, source=name, add_help=False)
    parser.fill()
    argv = [word for key, value in table.items() for word in _words(parser, key, value, where)]
    try:
        args = parser.parse_args(argv)
    except SourceError as why:
        raise SourceError(f"{where} {why}") from why
    return args


def _words(parser: argparse.ArgumentParser, key: str, value: Any, where: str) -> list[str]:
    option = "--" + key.replace("_", "-")
    action = parser._option_string_actions.get(option)
    if action is None:
        known = ", ".join(sorted(o[2:] for o in parser._option_string_actions if o.startswith("--")))
        raise SourceError(f"{where} {key}: no such option; there are {known}")
    if action.nargs == 0:
        if not isinstance(value, bool):
            raise SourceError(f"{where} {key}: write true or false, not {value!r}")
        return [option] if value else []
    values = value if isinstance(value, list) else [value]
    for one in values:
        if isinstance(one, bool) or not isinstance(one, str | int | float):
            raise SourceError(f"{where} {key}: write text or a number, not {one!r}")
    return [f"{option}={one}" for one in values]
