"""How large a share of its time a port is on hold, window by window, and whether anything moved meanwhile."""

from collections.abc import Iterable, Mapping, Sequence

from collectors.contract.fabric import PortScrape
from streams.counter_columns import Changes
from streams.counters import Change
from streams.detectors.fabric_pause_columns import PauseColumn, best_first, pause_column
from streams.detectors.fabric_pause_limits import PauseLimits
from streams.detectors.fabric_pause_state import Held, PauseState, Where
from streams.detectors.fabric_ports import make_room

_RATIO_ROLES = ("time", "quanta", "frames")


def measure(
    limits: PauseLimits, state: PauseState, scrape: PortScrape, columns: Mapping[str, PauseColumn], taken: Changes
) -> dict[Where, Held]:
    """Bring the ratios of all ports on hold up to this scrape; those for which it ends a window."""
    rows = {port.name: row for row, port in enumerate(scrape.ports)}
    by_place: dict[tuple[int | None, str], list[PauseColumn]] = {}
    for column in columns.values():
        by_place.setdefault((column.priority, column.direction), []).append(column)
    wheres: dict[Where, None] = dict.fromkeys(where for where in state.held if where[0] in rows)
    for row, changes in taken.items():
        for name, change in changes.items():
            column = columns[name]
            if column.role in _RATIO_ROLES and not change.first:
                wheres[scrape.ports[row].name, column.priority, column.direction] = None
    out: dict[Where, Held] = {}
    for where in wheres:
        row = rows[where[0]]
        if _window(limits, state, scrape, where, row, by_place.get((where[1], where[2]), []), taken.get(row, {})):
            out[where] = state.held[where]
    return out


def _window(
    limits: PauseLimits,
    state: PauseState,
    scrape: PortScrape,
    where: Where,
    row: int,
    columns: Sequence[PauseColumn],
    changes: Mapping[str, Change],
) -> bool:
    held = state.held.get(where)
    if held is not None and scrape.ts_us <= held.ts_us:
        return False
    told = (c for c in best_first(columns) if c.role in _RATIO_ROLES)
    column = next((c for c in told if state.ledger.told(c.name, where[0], scrape.ts_us)), None)
    if column is None or (column.is_bound and where[1] is None and _by_priority(changes)):
        return False
    change = changes.get(column.name)
    if change is not None and (change.reset or change.delta is None or change.window_us <= 0):
        return False
    ratio, begun_us = 0.0, scrape.ts_us
    if change is not None and change.delta is not None:
        paused_us = column.paused_us(change.delta, scrape.ports[row].speed_gbps)
        if paused_us is None:
            return False
        ratio, begun_us = min(1.0, paused_us / change.window_us), scrape.ts_us - change.window_us
    if held is None:
        if ratio < limits.pressure_off_ratio:
            return False
        make_room(state.held, limits.most, lambda one: one.ts_us)
        held = state.held[where] = Held()
    held.ts_us, held.ratio, held.column = scrape.ts_us, ratio, column.name
    _count(limits, held, ratio, begun_us, _moved(state, scrape.ts_us, where[0], columns, changes))
    return True


def _moved(
    state: PauseState,
    ts_us: int,
    port: str,
    columns: Iterable[PauseColumn],
    changes: Mapping[str, Change],
) -> bool | None:
    """Did anything move past the hold in this window? None: nobody says."""
    told = [c.name for c in columns if c.role == "moved" and state.ledger.told(c.name, port, ts_us)]
    if not told or any(name in changes and changes[name].first for name in told):
        return None
    return any(name in changes for name in told)


def _count(limits: PauseLimits, held: Held, ratio: float, begun_us: int, moved: bool | None) -> None:
    if ratio < limits.storm_ratio or moved:
        held.stuck = 0
    elif moved is False:
        held.stuck += 1
    if ratio < limits.pressure_ratio:
        held.high_since_us = None
    elif held.high_since_us is None:
        held.high_since_us = begun_us
    if ratio >= limits.pressure_off_ratio:
        held.low_since_us = None
    elif held.low_since_us is None:
        held.low_since_us = held.ts_us


def _by_priority(changes: Mapping[str, Change]) -> bool:
    """Does the port tell of pause by priority? Then its count of all pause frames is the same pause again."""
    columns = (pause_column(name) for name in changes)
    return any(c is not None and c.role in _RATIO_ROLES and c.priority is not None for c in columns)
