"""The limits as a person reads them: value, default and source, taken from the docstrings under the attributes."""

import ast
import dataclasses
import inspect
import itertools
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from streams.detectors.all import Choice
from streams.limits import JUDGES, SECTIONS, seconds, seconds_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One limit. `table`: section, or section and group (`memory.trend`)."""

    table: str
    name: str
    value: Any
    default: Any
    source: str
    """What it means and where the number is from; empty: it goes with the limit before it."""


def rows(choices: Mapping[str, Choice]) -> Iterator[Row]:
    """Every limit of every section, in the order of the code."""
    for section, limits in SECTIONS.items():
        default = Choice(limits=limits())
        chosen = choices.get(section, default)
        if section not in JUDGES:
            told = "judged and stored, never told"
            yield Row(table=section, name="shadow", value=chosen.shadow, default=False, source=told)
            yield Row(table=section, name="on", value=chosen.on, default=True, source="judged at all")
        yield from _rows(section, chosen.limits, default.limits)


def _rows(table: str, chosen: Any, default: Any) -> Iterator[Row]:
    docs = sources(type(default))
    groups = []
    for field in dataclasses.fields(default):
        name, now, was = field.name, getattr(chosen, field.name), getattr(default, field.name)
        if dataclasses.is_dataclass(was):
            groups.append((f"{table}.{name}", now, was))
            continue
        yield Row(
            table=table,
            name=seconds_name(name),
            value=_plain(seconds(name, now)),
            default=_plain(seconds(name, was)),
            source=docs.get(name, ""),
        )
    for group, now, was in groups:
        yield from _rows(group, now, was)


def sources(limits: type[Any]) -> dict[str, str]:
    """Attribute -> the docstring that stands right under it."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(limits)))
    body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
    out: dict[str, str] = {}
    for here, after in itertools.pairwise(body):
        if (
            isinstance(here, ast.AnnAssign)
            and isinstance(here.target, ast.Name)
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
        ):
            out[here.target.id] = " ".join(str(after.value.value).split())
    return out


def about(limits: type[Any]) -> str:
    """What the limits have in common: their class docstring, on one line."""
    return " ".join((inspect.getdoc(limits) or "").split())


def toml(choices: Mapping[str, Choice]) -> str:
    """A whole file with every limit, its source as a comment. Reading it back gives the same limits."""
    out: list[str] = []
    table = ""
    for row in rows(choices):
        if row.table != table:
            table = row.table
            out += ["", f"[{table}]"]
        out += [f"# {line}" for line in textwrap.wrap(row.source, 116)]
        out.append(f"{row.name} = {_toml(row.value)}")
    return "\n".join(out[1:]) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, frozenset | set):
        return sorted(value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return list(value) if isinstance(value, tuple) else value


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_toml(str(k))} = {_toml(v)}" for k, v in value.items()) + "}"
    return repr(value)
