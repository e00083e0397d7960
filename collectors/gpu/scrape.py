"""Rows into a message."""

from collections.abc import Iterable, Mapping, Sequence

from collectors.contract.gpu import GpuScrape
from collectors.gpu.reading import GpuSource, Row


def scrape_of(
    rows: Sequence[Row], *, ts_us: int, cluster: str, node: str, source: GpuSource, labels: Mapping[str, str]
) -> GpuScrape:
    """All GPUs of a node at one moment. A field that no row has is not sent; one that some lack is None there."""
    fields = sorted({name for row in rows for name in row.values}, key=int)
    return GpuScrape(
        cluster=cluster,
        ts_us=ts_us,
        node=node,
        source=source,
        gpus=[row.gpu for row in rows],
        columns={name: [row.values.get(name) for row in rows] for name in fields},
        errors=_errors(rows),
        labels=dict(labels),
    )


def _errors(rows: Sequence[Row]) -> dict[str, str]:
    out: dict[str, str] = {}
    for row in rows:
        if row.trouble is not None:
            out[name_of(row)] = row.trouble
    whys: dict[str, dict[str, list[Row]]] = {}
    for row in rows:
        for name, why in row.errors.items():
            whys.setdefault(name, {}).setdefault(why, []).append(row)
    for name, by_why in whys.items():
        out[name] = "; ".join(
            why if len(those) == len(rows) else f"{why} ({_all(those)})" for why, those in by_why.items()
        )
    return out


def name_of(row: Row) -> str:
    """UUID, with the instance of a MIG row."""
    return row.gpu.uuid if row.gpu.mig is None else f"{row.gpu.uuid}/{row.gpu.mig}"


def _all(rows: Iterable[Row]) -> str:
    return ", ".join(map(name_of, rows))


def troubles(rows: Sequence[Row]) -> str | None:
    """One line for the beat: which GPUs could not be read, and why; None: all could."""
    sick = [row for row in rows if row.trouble is not None]
    if not sick:
        return None
    said = [f"{_short(row)}: {row.trouble}" for row in sick]
    return f"{len(sick)} of {len(rows)} GPUs not read: " + "; ".join(said)


def _short(row: Row) -> str:
    index = "GPU" if row.gpu.index is None else f"GPU {row.gpu.index}"
    return f"{index} ({name_of(row)})"
