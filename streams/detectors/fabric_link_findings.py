"""The words of the bad-link verdicts."""

from collections.abc import Iterator, Mapping

from collectors.contract.fabric import PortScrape
from streams.contract import Evidence, Finding
from streams.detectors.fabric_link_columns import LinkColumn, link_column
from streams.detectors.fabric_link_limits import LinkQualityLimits
from streams.detectors.fabric_link_state import Bad
from streams.detectors.fabric_ports import port_subject

NAME = "link_quality"


def bad_link(
    limits: LinkQualityLimits,
    scrape: PortScrape,
    row: int,
    bad: Bad,
    why: str,
    now: Mapping[str, float],
    columns: Mapping[str, LinkColumn],
) -> Finding:
    """A bad link as it stands. `now`: what showed it in this scrape."""
    port = scrape.ports[row].name
    worst = max(bad.errors, key=lambda name: (_counts(name), bad.errors[name]))
    column = link_column(worst)
    unit = "errors" if column is None else column.unit
    value = bad.errors[worst]
    evidence = [Evidence(what=f"errors in the receive direction of {port}: {why}", ts_us=scrape.ts_us)]
    evidence += [
        Evidence(what=name, value=count, unit=columns[name].unit, ts_us=scrape.ts_us)
        for name, count in sorted(now.items())
    ]
    evidence += _beside(limits, scrape, row, columns)
    return Finding(
        cluster=scrape.cluster,
        ts_us=scrape.ts_us,
        detector=NAME,
        state="opened",
        subject=port_subject(scrape, port),
        episode_us=scrape.ts_us,
        severity="warning",
        cause="bad_link",
        value=value,
        limit=limits.post_ber if column is not None and column.rule == "ratio" else 0.0,
        unit=unit,
        summary=f"{scrape.device} {port} receives packets beyond repair ({value:.3g} {unit}, {worst}): {why}",
        evidence=evidence,
    )


def _counts(name: str) -> bool:
    """Packets and codewords before ratios: a count says more to a person."""
    column = link_column(name)
    return column is not None and column.rule != "ratio"


def _beside(
    limits: LinkQualityLimits, scrape: PortScrape, row: int, columns: Mapping[str, LinkColumn]
) -> Iterator[Evidence]:
    """Light, heat and errors before FEC, the worst of all lanes, with what the other ports have."""
    bases = {c.base: c for c in columns.values() if c.rule in ("least", "most")}
    for base, column in sorted(bases.items()):
        worst = min if column.rule == "least" else max
        by_row: dict[int, list[float]] = {}
        for name, other in columns.items():
            if other.base == base:
                for i, value in enumerate(scrape.columns[name][: len(scrape.ports)]):
                    if value is not None:
                        by_row.setdefault(i, []).append(value)
        if row not in by_row:
            continue
        mine = worst(by_row[row])
        others = sorted(worst(values) for i, values in by_row.items() if i != row)
        beside = f"; half of the other ports: {others[len(others) // 2]:.3g}" if others else ""
        hot = "; hot" if base == "module_temperature" and mine > limits.hot_celsius else ""
        yield Evidence(what=f"{base}{beside}{hot}", value=float(mine), unit=column.unit, ts_us=scrape.ts_us)
