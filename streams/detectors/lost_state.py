"""What is remembered of the GPUs that a node has shown."""

from dataclasses import dataclass, field

from msgspec import Struct
from msgspec import field as kept_field

from collectors.contract.gpu import Gpu, GpuScrape
from streams.contract import Subject
from streams.episodes import Episodes

MOST = 64
"""GPUs remembered of a node."""


class Known(Struct):
    """One GPU that was seen. It changes only when the GPU goes or comes."""

    subject: Subject
    model: str | None = None
    mig: bool = False
    """Its rows are those of MIG instances: without instances it has none."""
    away_us: int = 0
    """When it was last seen; 0: it is here."""
    idle: bool = False
    """It did nothing when it was last seen."""
    learned: int = 0
    """Scrapes that it was away for and came back."""


class Kept(Struct):
    """What outlives the process. Nothing of it changes while a node is well."""

    cluster: str = "default"
    known: dict[str, Known] = kept_field(default_factory=dict)
    """By UUID."""
    first_us: int = 0
    changed_us: int = 0
    """The last change of MIG instances, or when all GPUs were gone."""
    last_us: int = 0
    """The last scrape that changed something here: what is not later is old news."""
    episodes: Episodes = kept_field(default_factory=Episodes)


@dataclass(slots=True)
class State:
    """All of one node."""

    kept: Kept = field(default_factory=Kept)
    last_us: int = 0
    counted: bool = False
    """The GPUs were counted against the usual since they last changed."""
    scrape: GpuScrape | None = None
    gpus: list[Gpu] = field(default_factory=list)
    """As in the last scrape that was looked at closely."""
    away: dict[str, int] = field(default_factory=dict)
    """UUID -> scrapes in a row without it."""
    here: dict[str, int] = field(default_factory=dict)
    """UUID -> scrapes in a row with it, of those whose episode is open."""


def readable(scrape: GpuScrape) -> set[int] | None:
    """Rows of which anything could be read; None: all of them."""
    count = len(scrape.gpus)
    rows: set[int] = set()
    for columns in (scrape.columns, scrape.named):
        for column in columns.values():
            if None not in column and len(column) == count:
                return None
            rows.update(row for row, value in enumerate(column) if value is not None)
            if len(rows) == count:
                return None
    return rows
