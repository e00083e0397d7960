"""`lockstep settings`."""

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """No options but the form of the output."""
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one JSON object a line")
    form.add_argument("--markdown", action="store_true", help="tables without the values, as in docs/settings.md")


def run(args: argparse.Namespace) -> int:
    """Print every setting with its value, default and meaning."""
    import json
    from dataclasses import asdict

    from infra.settings import all_settings, table

    rows = all_settings()
    if args.markdown:
        print(table(rows), end="")
        return 0
    if args.json:
        for room, listed in rows:
            print(json.dumps({"room": room, **asdict(listed)}))
        return 0
    room_before = None
    for room, listed in rows:
        if room != room_before:
            print(f"{'' if room_before is None else chr(10)}{room}")
            room_before = room
        value = listed.value or "(empty)"
        default = "" if listed.value == listed.default else f", default {listed.default or '(empty)'}"
        print(f"  {listed.env}={value}{default}\n      {listed.meaning}")
    return 0
