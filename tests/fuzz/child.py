"""One parser under fuzzing, in a process of its own: libFuzzer ends the process it runs in."""

import random
import sys
import time
import traceback
from importlib.util import find_spec
from pathlib import Path

from tests.fuzz.mutate import mutate
from tests.fuzz.oracle import hold, parsers
from tests.fuzz.parser import Parser

TRIES = "inputs tried: "


def main(argv: list[str]) -> None:
    """Arguments: parser, seconds, folder for the corpus, folder for what breaks it."""
    name, seconds, corpus, keep = argv[1], float(argv[2]), Path(argv[3]), Path(argv[4])
    if find_spec("atheris"):
        _by_coverage(name, seconds, corpus, keep)
    else:
        parser = next(p for p in parsers() if p.name == name)
        sys.exit(_by_chance(parser, seconds, keep))


def _by_coverage(name: str, seconds: float, corpus: Path, keep: Path) -> None:
    import atheris

    # Instrumented at import, so the parsers are found only inside.
    with atheris.instrument_imports(include=["collectors"]):
        parser = next(p for p in parsers() if p.name == name)
    for number, seed in enumerate(parser.seeds):
        (corpus / str(number)).write_bytes(seed)
    end_s = time.monotonic() + seconds
    tried = 0

    def one(data: bytes) -> None:
        nonlocal tried
        tried += 1
        if time.monotonic() > end_s:
            # Not libFuzzer's own limit: it is judged only between inputs that it finds new.
            print(f"{TRIES}{tried}", flush=True)
            sys.stdout.flush()
            _leave()
        hold(parser, data)

    options = [
        "-timeout=20",
        "-rss_limit_mb=3000",
        "-max_len=65536",
        f"-artifact_prefix={keep}/{name}-",
        "-verbosity=0",
    ]
    atheris.Setup([name, *options, str(corpus)], one)
    atheris.Fuzz()


def _leave() -> None:
    import os

    os._exit(0)


def _by_chance(parser: Parser, seconds: float, keep: Path) -> int:
    rng = random.Random(time.time_ns())
    end_s, tried = time.monotonic() + seconds, 0
    while time.monotonic() < end_s:
        data = mutate(rng.choice(parser.seeds), rng.choice(parser.seeds), rng)
        tried += 1
        try:
            hold(parser, data)
        except Exception:  # noqa: BLE001 (whatever it is, it is the finding)
            traceback.print_exc()
            (keep / f"{parser.name}-{tried}").write_bytes(data)
            return 1
    print(f"{TRIES}{tried}")
    return 0


if __name__ == "__main__":
    main(sys.argv)
