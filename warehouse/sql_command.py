"""`lockstep sql`."""

import argparse
import sys
from pathlib import Path

from collectors.contract.errors import UserError

FORMATS = ("table", "csv", "json", "parquet")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `lockstep sql`."""
    parser.add_argument(
        "statement", nargs="?", help="SQL, one or more statements; without it a prompt, or standard input"
    )
    parser.add_argument("--file", "-f", metavar="FILE", help="read the statements from a file; - is standard input")
    parser.add_argument("--format", choices=FORMATS, default="table", help="how to print (default %(default)s)")
    parser.add_argument("--out", "-o", metavar="FILE", help="write there; parquet needs it")
    parser.add_argument(
        "--rows", type=int, default=1000, metavar="N", help="most rows of a table; 0: all (default %(default)s)"
    )


def run(args: argparse.Namespace) -> int:
    """0: every statement ran. Raises `UserError` with the database's own words for one that did not."""
    if args.format == "parquet" and not args.out:
        raise UserError("--format parquet writes a file: name it with --out FILE")
    if args.statement and args.file:
        raise UserError("a statement and --file: give one of the two")
    text = args.statement if args.statement else _read(args.file)
    from warehouse.opening import connect

    with connect() as connection:
        if text is None:
            from warehouse.sql_prompt import prompt

            return prompt(connection, args.format, args.rows)
        from warehouse.sql_output import Output, run_statements

        output = Output(args.format, args.rows, sys.stdout, Path(args.out) if args.out else None)
        run_statements(connection, text, output)
    return 0


def _read(file: str | None) -> str | None:
    """The statements, or None for a prompt."""
    if file is None and sys.stdin.isatty():
        return None
    if file in (None, "-"):
        return sys.stdin.read()
    try:
        return Path(str(file)).read_text()
    except OSError as why:
        raise UserError(f"{file}: {why.strerror}") from why
