"""Several tables of one source in a file: each reads something of its own, under a name of its own."""

import argparse
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

from collectors.source import SourceError

_NOT_READ = frozenset({"instance", "interval", "node"})


def tell_apart(where: str, tables: Sequence[argparse.Namespace]) -> None:
    """Give each table of one source an instance where its beats would be taken for those of another.

    By what `--instance` and else `--job` say; the first of a name keeps it, the next have their number. `where` names
    file and source. Raises `SourceError` for two tables with one instance, and for two that read the same: they would
    share a cursor, and tell everything twice.
    """
    readers: dict[Any, int] = {}
    called: dict[str, int] = {}
    for number, args in enumerate(tables, start=1):
        first = readers.setdefault(_reads(args), number)
        if first != number:
            raise SourceError(f"{where} number {number}: reads what number {first} reads; take one of them away")
        if args.instance is not None and called.setdefault(args.instance, number) != number:
            raise SourceError(
                f"{where} number {number} instance: number {called[args.instance]} has {args.instance!r} too; "
                "each needs a name of its own"
            )
    for number, args in enumerate(tables, start=1):
        if args.instance is not None:
            continue
        own = getattr(args, "job", None) or ""
        if called.setdefault(own, number) != number:
            names = (f"{own}-{n}" if own else str(n) for n in count(number))
            args.instance = next(name for name in names if called.setdefault(name, number) == number)


def _reads(args: argparse.Namespace) -> Any:
    """What tells apart what two tables read. A file or a folder of one job is one, whatever else is said of it."""
    told = vars(args)
    places = [value for name in ("file", "dir") for value in _listed(told.get(name))]
    if places:
        return frozenset(str(Path(place).resolve()) for place in places), told.get("job"), told.get("prefix")
    return tuple(sorted((name, repr(value)) for name, value in told.items() if name not in _NOT_READ))


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]
