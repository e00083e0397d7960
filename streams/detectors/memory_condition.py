"""One thing that is wrong with a GPU's memory now."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from streams.contract import Confidence, Evidence, Severity

REPLACE = "drain; run the field diagnostic; with its report and these counters, ask for replacement of the GPU"
RESET = "drain at the next gap in the work and reset the GPU"


class Condition(Struct, frozen=True, kw_only=True):
    """What it is called, how grave it is, and the facts behind it."""

    cause: str
    severity: Severity
    value: float
    limit: float
    unit: str
    words: str
    action: str
    ts_us: int | None = None
    confidence: Confidence | None = None
    facts: Callable[[], Sequence[Evidence]] = tuple
    """Worked out only for what is told: a storm is judged with every scrape."""

    def evidence(self) -> list[Evidence]:
        """The condition as a fact behind the finding, then its own facts."""
        return [Evidence(what=self.words, value=self.value, unit=self.unit, ts_us=self.ts_us), *self.facts()]
