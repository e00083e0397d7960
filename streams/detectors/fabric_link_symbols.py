"""Symbol errors of a port over 12 and 125 minutes, against what a good link of its speed has."""

from collections.abc import Mapping

from collectors.contract.fabric import PortScrape
from streams.counters import Change
from streams.detectors.fabric_link_columns import LinkColumn
from streams.detectors.fabric_link_limits import LinkQualityLimits
from streams.detectors.fabric_link_state import LinkKept, Symbols
from streams.detectors.fabric_ports import make_room


def judge_symbols(
    limits: LinkQualityLimits,
    kept: LinkKept,
    scrape: PortScrape,
    row: int,
    grown: Mapping[str, Change],
    columns: Mapping[str, LinkColumn],
) -> str:
    """Count the symbol errors of this scrape; why they are too many, or nothing."""
    port = scrape.ports[row]
    slow = port.speed_gbps is not None and port.speed_gbps < limits.symbol_gbps
    for name, change in grown.items():
        if columns[name].rule != "symbol" or (slow and port.link_layer == "ethernet"):
            continue
        if port.name not in kept.symbols:
            make_room(kept.symbols, limits.most, lambda one: one.ts_us)
        kept.symbols.setdefault(port.name, Symbols()).add(change, scrape.ts_us, limits.symbol_long_us)
        break  # twins are not added
    return too_many(limits, kept, scrape, row)


def too_many(limits: LinkQualityLimits, kept: LinkKept, scrape: PortScrape, row: int) -> str:
    """Why the symbol errors of a port are too many, or nothing."""
    port = scrape.ports[row]
    symbols = kept.symbols.get(port.name)
    if symbols is None:
        return ""
    inside = {us: symbols.within(scrape.ts_us, us) for us in (limits.symbol_short_us, limits.symbol_long_us)}
    if inside[limits.symbol_long_us] == 0.0:
        if port.name not in kept.bad:
            del kept.symbols[port.name]
        return ""
    for window_us, count in inside.items():
        allowed = most_symbols(limits, port.speed_gbps, window_us)
        if allowed is not None and count > allowed:
            return f"{count:.3g} wrong symbols in {window_us // 60_000_000} minutes, {allowed:.3g} are allowed"
    return ""


def few_us(limits: LinkQualityLimits, kept: LinkKept, scrape: PortScrape, row: int) -> int:
    """From when on the symbol errors of a port are not too many, if no more come."""
    port = scrape.ports[row]
    symbols = kept.symbols.get(port.name)
    ends = [0]
    for window_us in (limits.symbol_short_us, limits.symbol_long_us):
        allowed = most_symbols(limits, port.speed_gbps, window_us)
        if symbols is not None and allowed is not None:
            ends.append(symbols.below_us(window_us, allowed))
    return max(ends)


def most_symbols(limits: LinkQualityLimits, speed_gbps: float | None, window_us: int) -> float | None:
    """How many a good link has at most in one of the two windows; None: nobody says."""
    is_long = window_us == limits.symbol_long_us
    if speed_gbps is None:
        return limits.symbols_at_unknown_speed if is_long else None
    ratio = limits.symbol_long_ber if is_long else limits.symbol_short_ber
    if speed_gbps < limits.symbol_gbps:
        ratio = limits.slower_ber
    return speed_gbps * 1e9 * window_us / 1e6 * ratio
