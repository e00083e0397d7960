"""An exception that nobody foresaw: a defect of ours. It costs one sweep of one target and never the process."""

import traceback
from pathlib import Path

from collectors.outlet_log import limited_logger

EVERY_S = 3600.0
"""Between two tracebacks of one place in the code."""
LONGEST = 200
ROOM = Path(__file__).parent


def defect(where: str, why: Exception) -> str:
    """Words for the beat, such as `defect: KeyError: 'x' at dcgm/page.py:33 (...)`; the traceback goes to the log.

    `where` is the source, and what it was reading: `dcgm:http://node-a:9400/metrics`.
    """
    said = f"{type(why).__name__}: {why}".partition("\n")[0][:LONGEST].rstrip(": ")
    source, place = where.partition(":")[0], _place(why)
    # The place comes first: the log tells lines apart by how they begin.
    limited_logger("lockstep.defect", EVERY_S).error(
        "%s at %s: %s, in %s; please report it with these lines", source, place, said, where, exc_info=why
    )
    return f"defect: {said} at {place}; please report it with the traceback in this process's log"


def _place(why: BaseException) -> str:
    """The innermost line of this room, else of anybody."""
    frames = traceback.extract_tb(why.__traceback__)
    if not frames:
        return "an unknown place"
    ours = [frame for frame in frames if Path(frame.filename).is_relative_to(ROOM)]
    last = (ours or frames)[-1]
    file = Path(last.filename)
    return f"{file.relative_to(ROOM) if ours else file.name}:{last.lineno} ({last.name})"
