"""The prompt of `lockstep sql`: statements end with `;`, words with a dot are for the prompt itself."""

import contextlib
import readline
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

from collectors.contract.errors import UserError
from warehouse.settings import warehouse_settings
from warehouse.sql_output import Output, run_statements, table_lines

HELP = """\
A statement ends with ; and may span lines. The warehouse is read-only here; times are UTC.
  .tables          tables and views, and what a row of each is
  .schema NAME     columns of a table or view
  .format FORMAT   table, csv or json
  .rows N          most rows of a table; 0: all
  .help            this
  .quit            leave (or Ctrl-D)
Ctrl-C stops a statement, or clears what was typed."""
LINES = 2000
SQL = Path(__file__).parent / "sql" / "prompt"


def prompt(connection: duckdb.DuckDBPyConnection, form: str, most: int) -> int:
    """Read, run, print until the end of input."""
    output = Output(form, most, sys.stdout)
    with _history(connection):
        sys.stdout.write("The warehouse, read-only. .help helps, .tables lists.\n")
        typed: list[str] = []
        while True:
            try:
                line = input("lockstep> " if not typed else "     ...> ")
            except EOFError:
                sys.stdout.write("\n")
                return 0
            except KeyboardInterrupt:
                sys.stdout.write("\n")
                typed = []
                continue
            if not typed and line.strip().startswith("."):
                if line.split()[0] in (".quit", ".exit"):
                    return 0
                _told(command, connection, line.split(), output)
                continue
            typed.append(line)
            text = "\n".join(typed)
            if not text.strip():
                typed = []
            elif is_whole(text):
                typed = []
                _told(run_statements, connection, text, output)


def is_whole(text: str) -> bool:
    """Whether the last statement is closed by a `;` that is not inside quotes or a comment."""
    state, at, last = "", 0, ""
    while at < len(text):
        char, two = text[at], text[at : at + 2]
        if state in ("'", '"'):
            state = "" if char == state else state
        elif state == "--":
            state = "" if char == "\n" else state
        elif state == "/*":
            if two == "*/":
                state, at = "", at + 1
        elif two in ("--", "/*"):
            state, at = two, at + 1
        else:
            if char in "'\"":
                state = char
            last = char if not char.isspace() else last
        at += 1
    return state in ("", "--") and last == ";"


def command(connection: duckdb.DuckDBPyConnection, words: list[str], output: Output) -> None:
    """One of the words of `.help`. Raises `UserError` for another."""
    match words:
        case [".help"]:
            output.out.write(HELP + "\n")
        case [".tables"]:
            _show(output, ("name", "kind", "a row is"), _rows(connection, "tables"))
        case [".schema", name]:
            rows = _rows(connection, "columns", table=name)
            if not rows:
                raise UserError(f"no table or view {name!r}; .tables lists them")
            output.out.writelines(f"{comment}\n" for (comment,) in _rows(connection, "comment", table=name))
            _show(output, ("column", "type", "meaning"), rows)
        case [".schema"]:
            raise UserError(".schema NAME: which table or view?")
        case [".format", ("table" | "csv" | "json") as form]:
            output.format = form
        case [".rows", number] if number.isdecimal():
            output.most = int(number)
        case _:
            raise UserError(f"{' '.join(words)}: not known; .help helps")


def _show(output: Output, names: tuple[str, ...], rows: list[Any]) -> None:
    for line in table_lines(names, [["" if value is None else value for value in row] for row in rows], 0):
        output.out.write(line + "\n")


def _rows(connection: duckdb.DuckDBPyConnection, name: str, **values: str) -> list[Any]:
    return connection.execute((SQL / f"{name}.sql").read_text(), values or None).fetchall()


def _told(work: Callable[..., None], *given: Any) -> None:
    """Run it; a mistake or Ctrl-C is told and the prompt goes on."""
    try:
        work(*given)
    except UserError as why:
        sys.stderr.write(f"{why}\n")
    except KeyboardInterrupt:
        sys.stderr.write("stopped\n")


@contextlib.contextmanager
def _history(connection: duckdb.DuckDBPyConnection) -> Any:
    path = Path(warehouse_settings().state) / "sql_history"
    with contextlib.suppress(OSError):
        readline.read_history_file(path)
    readline.set_history_length(LINES)
    words = sorted({name for (name,) in _rows(connection, "words")})
    readline.set_completer(Completer(words))
    readline.set_completer_delims(" \t\n,()=<>;'\"")
    readline.parse_and_bind("tab: complete")
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            readline.write_history_file(path)


class Completer:
    """Tab: names of tables, views and columns."""

    def __init__(self, words: list[str]) -> None:
        self._words = words

    def __call__(self, start: str, number: int) -> str | None:
        fits = [word for word in self._words if word.startswith(start)]
        return fits[number] if number < len(fits) else None
