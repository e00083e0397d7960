"""Why input was rejected, as few words as a metric's label may take."""

import re
from collections import Counter
from dataclasses import dataclass, field

MOST = 30
"""Reasons a source; further ones are counted together."""
OTHER = "other"

_PLACE = re.compile(r"^\S*:\d+: ")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`")
_NUMBER = re.compile(r"0x[0-9a-fA-F]+|\d+(\.\d+)?")


def reason(why: str) -> str:
    """`why` without the place, the values and the tail that make it unlike all others."""
    text = _NUMBER.sub("N", _QUOTED.sub("…", _PLACE.sub("", why.partition("\n")[0])))
    return text[:60].rstrip() or OTHER


@dataclass(slots=True)
class Reasons:
    """Counts by (source, reason); bounded, since what is rejected may be anybody's text."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    _known: Counter[str] = field(default_factory=Counter)

    def count(self, source: str, why: str) -> None:
        """One more. `source` may name a target behind a colon, which is left out."""
        name, short = source.partition(":")[0], reason(why)
        if (name, short) not in self.counts:
            if self._known[name] >= MOST:
                short = OTHER
            else:
                self._known[name] += 1
        self.counts[name, short] += 1
