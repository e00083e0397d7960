"""Series as a receiver knows them: whose business they are, and which target's scrape they belong to."""

import re
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace

from collectors.dcgm.fields import field_of
from collectors.remote_write.megatron import host_of, metric_of

MOST_SERIES = 1_000_000
"""Known at once, some 1 KB each; when there are more, all are learned anew."""
MOST_OTHERS = 200_000
"""Of them none of ours; further ones are looked at each time that they come."""

REPLICA = ("__replica__", "prometheus_replica", "replica")
"""Labels by which the Prometheus servers of a pair are told apart, in the forms of Cortex, Mimir and the operator."""

_EXPORTER = re.compile(r"(?:DCGM|dcgm)_[a-zA-Z0-9_:]+")

NOT_OURS, HISTOGRAM, EXEMPLAR, BUCKET = "no GPU's or job's metric", "native histogram", "exemplar", "histogram bucket"
"""Why samples are passed over."""

Items = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Source:
    """Whose scrape a series belongs to. `kind`: `gpu`, or `job` for what a training job tells of itself."""

    kind: str
    job: str
    instance: str
    cluster: str | None = None
    replica: str = ""

    @property
    def name(self) -> str:
        """As it stands in beats."""
        return f"{self.job}/{self.instance}" if self.job else self.instance or "no instance"

    @property
    def without_replica(self) -> "Source":
        """The same target, whoever scrapes it."""
        return replace(self, replica="")

    @property
    def host(self) -> str:
        """What to call the node where its labels do not."""
        return host_of(self.instance) or self.job or "unknown"


@dataclass(eq=False, slots=True)
class Series:
    """One series. Compared by identity: the book knows each once."""

    name: str
    labels: dict[str, str]
    source: Source | None
    why: str = ""
    """Why it is passed over, where it has no source."""
    head: bytes = b""
    """The bytes with which a body of 1.0 says it."""
    after: "Series | None" = None
    """Which one came after it the last time."""


@dataclass(slots=True)
class SeriesBook:
    """Series by whatever form a sender gives their labels. `cluster_label`: the label that names a GPU cluster."""

    cluster_label: str | None = None
    most: int = MOST_SERIES
    known: dict[Hashable, Series] = field(default_factory=dict)
    first: Series = field(default_factory=lambda: Series("", {}, None))
    """Stands before the first series of a request."""
    _sources: dict[Source, Source] = field(default_factory=dict)
    _same: dict[Hashable, Series] = field(default_factory=dict)
    """Each series once, in whatever form it comes."""
    _labels: dict[Items, tuple[Items, dict[str, str]]] = field(default_factory=dict)
    _others: int = 0

    def learn(self, key: Hashable, labels: Callable[[], Mapping[str, str]], head: bytes = b"") -> Series:
        """The series of `key`; `labels` is asked where it is new. Raises what `labels` raises."""
        series = self.known.get(key)
        if series is None:
            series = self._made(dict(labels()))
            if series.source is None:
                if self._others >= MOST_OTHERS:
                    return series
                self._others += 1
            elif len(self.known) >= self.most:
                self._forget()
            self.known[key] = series
            series.head = head or series.head
        return series

    def _made(self, labels: dict[str, str]) -> Series:
        name = labels.pop("__name__", "")
        kind = kind_of(name)
        if kind is None:
            return Series(name, {}, None, BUCKET if name.endswith("_bucket") and metric_of(name) else NOT_OURS)
        replica = next((labels[one] for one in REPLICA if labels.get(one)), "")
        cluster = labels.get(self.cluster_label) if self.cluster_label else None
        source = Source(kind, labels.get("job", ""), _instance(labels), cluster or None, replica)
        shown = {key: value for key, value in labels.items() if key not in REPLICA}
        items = tuple(sorted(shown.items()))
        # All metrics of one GPU have the same labels.
        items, shown = self._labels.setdefault(items, (items, shown))
        fresh = Series(name, shown, self._sources.setdefault(source, source))
        return self._same.setdefault((name, source, items), fresh)

    def _forget(self) -> None:
        self.known.clear()
        self._sources.clear()
        self._same.clear()
        self._labels.clear()
        self._others = 0
        self.first.after = None


def kind_of(name: str) -> str | None:
    """`gpu` or `job`; None: the metric is neither's business. Recording rules over a metric have other names."""
    if field_of(name) is not None or _EXPORTER.fullmatch(name):
        return "gpu"
    metric = metric_of(name)
    return "job" if metric is not None and not name.endswith("_bucket") else None


def _instance(labels: Mapping[str, str]) -> str:
    """The target of a scrape; where a relabelling took it away, the host stands in its place."""
    for label in ("instance", "Hostname", "hostname", "node"):
        if labels.get(label):
            return labels[label]
    return ""
