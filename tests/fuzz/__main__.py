"""`make fuzz ARGS="--seconds 60 [NAME...]"`: damaged bytes into every parser, by coverage (atheris) where installed."""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

from tests.fuzz.child import TRIES
from tests.fuzz.oracle import parsers

KEEP = Path(".lockstep") / "fuzz"
"""Inputs that broke a parser stay here."""
LEAST_S = 2.0
"""Starting takes about as long."""


def main(argv: list[str]) -> int:
    """0 when nothing was found; 1 else, with the input kept and its error shown."""
    reader = argparse.ArgumentParser(prog="make fuzz", description="Feed damaged bytes to every parser.")
    reader.add_argument("names", nargs="*", metavar="PARSER", help="only parsers whose name begins so")
    reader.add_argument("--seconds", type=float, default=60.0, help="for all of them together (default %(default)g)")
    reader.add_argument("--each", type=float, help="for each parser instead")
    reader.add_argument("--jobs", type=int, default=os.cpu_count(), help="parsers at once (default %(default)s)")
    args = reader.parse_args(argv)
    names = [p.name for p in parsers() if not args.names or p.name.startswith(tuple(args.names))]
    if not names:
        sys.stderr.write(f"no such parser; there are {', '.join(p.name for p in parsers())}\n")
        return 2
    how = "atheris" if find_spec("atheris") else "random damage (atheris is not installed)"
    each_s = args.each or max(LEAST_S, args.seconds * args.jobs / len(names))
    print(f"{len(names)} parsers, {each_s:.0f} s each, {args.jobs} at once, by {how}", flush=True)
    KEEP.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(args.jobs) as pool:
        bad = sum(pool.map(lambda name: _one(name, each_s), names))
    print(f"{len(names) - bad} of {len(names)} parsers took everything" + (f"; inputs under {KEEP}" if bad else ""))
    return 1 if bad else 0


def _one(name: str, seconds: float) -> bool:
    """Fuzz one parser in a process of its own; whether it broke."""
    began_s = time.monotonic()
    with tempfile.TemporaryDirectory() as corpus:
        done = subprocess.run(
            [sys.executable, "-m", "tests.fuzz.child", name, str(seconds), corpus, str(KEEP)],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    said = done.stdout + done.stderr
    tries = next((line.removeprefix(TRIES) for line in said.splitlines() if line.startswith(TRIES)), "?")
    verdict = "ok" if done.returncode == 0 else f"BROKEN (exit {done.returncode})"
    print(f"  {name:40} {tries:>10} inputs {time.monotonic() - began_s:6.0f} s  {verdict}", flush=True)
    if done.returncode:
        # What was raised comes first, libFuzzer's own words after it.
        _, raised, rest = said.partition("Uncaught Python exception")
        shown = (raised + rest).splitlines()[:30] if raised else said.splitlines()[-25:]
        print("\n".join("    " + line for line in shown), flush=True)
    return done.returncode != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
