"""`lockstep collect check`: what each source sees, what it lacks, what to switch on."""

import queue
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TextIO

from collectors.config_file import Configured
from collectors.contract.errors import UserError
from collectors.source import Sight
from collectors.sources import load

LIMIT_S = 120.0
"""A source that has not ended its check by then is given up."""

Checked = tuple[str, list[Sight]]
"""A source's number in the config and name, with what it saw."""


def look(source: Configured) -> list[Sight]:
    """The sights of one source. Its own mistakes and a crash are sights too."""
    where = getattr(source.args, "instance", None) or source.name
    try:
        found = list(load(source.name).check(source.args))
    except (UserError, OSError) as why:
        return [Sight(where, False, f"nothing: {why}")]
    except ModuleNotFoundError as why:
        return [Sight(where, False, "nothing", f"the package {why.name!r} is not installed", _install(source.name))]
    except Exception as why:  # noqa: BLE001 (one source's fault must not hide what the others see)
        return [Sight(where, False, "nothing", f"{type(why).__name__}: {why}", "report this as a defect")]
    return found or [Sight(where, False, "nothing", "no target", "name one in its options")]


def look_at_all(
    wanted: list[Configured], look: Callable[[Configured], list[Sight]], limit_s: float
) -> Iterator[tuple[int, list[Sight]]]:
    """Every source at once, a thread each; (number, sights) as they end. What takes longer is a sight as well."""
    done: queue.Queue[tuple[int, list[Sight]]] = queue.Queue()

    def one(number: int, source: Configured) -> None:
        done.put((number, look(source)))

    for number, source in enumerate(wanted):
        # A daemon: a check that hangs must not keep the process from ending.
        threading.Thread(target=one, args=(number, source), name=source.name, daemon=True).start()
    open_ = dict(enumerate(wanted))
    while open_:
        try:
            number, sights = done.get(timeout=limit_s)
        except queue.Empty:
            break
        del open_[number]
        yield number, sights
    for number, source in open_.items():
        yield (
            number,
            [Sight(source.name, False, "nothing", f"no answer within {limit_s:.0f} s", "see whether it hangs")],
        )


def run_check(wanted: list[Configured], out: TextIO, limit_s: float = LIMIT_S) -> int:
    """Print one table in the order of the config; 0 when nothing is lacking, 1 else."""
    found: dict[int, list[Sight]] = {}
    terminal = sys.stderr.isatty()
    for number, sights in look_at_all(wanted, look, limit_s):
        found[number] = sights
        if terminal:
            sys.stderr.write(f"\r\x1b[K{len(found)} of {len(wanted)} sources looked at")
            sys.stderr.flush()
    if terminal:
        sys.stderr.write("\r\x1b[K")
    checked = [(wanted[number].name, found[number]) for number in sorted(found)]
    if out.isatty():
        _table(checked)
    else:
        out.writelines(line + "\n" for line in plain(checked))
    good = sum(sight.ok for _, sights in checked for sight in sights)
    lines = sum(len(sights) for _, sights in checked)
    out.write(f"{good} of {lines} as they should be\n" if good < lines else f"all {lines} as they should be\n")
    return 0 if good == lines else 1


def plain(checked: Iterable[Checked]) -> Iterator[str]:
    """One line a sight, for pipes and logs."""
    for name, sights in checked:
        for sight in sights:
            parts = [sight.sees]
            if sight.lacks:
                parts.append(f"lacks {sight.lacks}")
            if sight.advice:
                parts.append(f"do: {sight.advice}")
            yield f"{'ok   ' if sight.ok else 'LACKS'} {name} {sight.target}: " + "; ".join(parts)


def _table(checked: Iterable[Checked]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(show_lines=True)
    for head in ("", "source", "target", "sees", "lacks", "what to do"):
        table.add_column(head, overflow="fold")
    for name, sights in checked:
        for sight in sights:
            mark = Text("ok", style="green") if sight.ok else Text("lacks", style="bold red")
            cells = (name, sight.target, sight.sees, sight.lacks, sight.advice)
            table.add_row(mark, *map(Text, cells))
    Console().print(table)


def _install(name: str) -> str:
    extra = "kubernetes" if name == "kubernetes" else "collect"
    return f"pip install 'lockstep-telemetry[{extra}]'"
