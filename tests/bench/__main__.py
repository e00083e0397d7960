"""`make bench`: every bench, or those named: `make bench ARGS="dcgm load"`. Prints ratios, no verdicts.

Options go to the benches named: `make bench ARGS="outage --seconds 600"`.
"""

import importlib
import pkgutil
import sys
from pathlib import Path


def names() -> list[str]:
    """Every bench of this folder, without `_bench`."""
    found = pkgutil.iter_modules([str(Path(__file__).parent)])
    return sorted(m.name.removesuffix("_bench") for m in found if m.name.endswith("_bench"))


def main(argv: list[str]) -> int:
    """Run benches one after another; a name that is none ends with the list of names."""
    first = next((n for n, word in enumerate(argv) if word.startswith("-")), len(argv))
    wanted, options = argv[:first] or names(), argv[first:]
    unknown = sorted(set(wanted) - set(names()))
    if unknown:
        sys.stderr.write(f"no bench {', '.join(unknown)}; there are {', '.join(names())}\n")
        return 2
    for name in wanted:
        print(f"== {name}", flush=True)
        importlib.import_module(f"tests.bench.{name}_bench").main(*[options] if options else [])
        print(flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
