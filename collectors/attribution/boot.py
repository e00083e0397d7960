"""When this node booted."""

import re
from pathlib import Path

STAT = Path("/proc/stat")
SLACK_US = 60_000_000
"""The clock may be set right after the boot; a file is of an earlier boot where it is older by more."""


def booted_us(path: Path = STAT) -> int:
    """Unix microseconds; 0 where it is not told: then nothing is older."""
    try:
        found = re.search(r"^btime (\d{1,12})$", path.read_text(), re.MULTILINE)
    except OSError:
        return 0
    return 0 if found is None else int(found[1]) * 1_000_000
