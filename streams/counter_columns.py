"""All counters of one device, column by column: a column in which nothing moved costs one comparison.

The answers are those of `counters.advance` one by one, without the changes that say nothing.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from collectors.contract.fabric import CounterForm, PortScrape
from streams.counters import PLAIN, WRAPS_AT, Change, Past, Rhythm, advance, line_rate_per_s

Cells = list[int | float | None]
Changes = dict[int, dict[str, Change]]
"""Row of the scrape -> column -> what it said."""

SPARE_PORTS = 1024
"""Ports remembered beyond those of the last scrape: a port that misses a sweep must not lose its past."""


class Whole:
    """A column as it came last, while every port of it stands where it stood."""

    __slots__ = ("cells", "ended", "epochs", "form", "least_since_us", "names", "settled_us", "ts_us")

    def __init__(self, scrape: PortScrape, column: str, names: list[str], epochs: list[str], form: CounterForm) -> None:
        self.cells: Cells = scrape.columns.get(column, [])
        self.ended: Cells | None = scrape.saturated.get(column)
        self.names = names
        self.epochs = epochs
        self.form = form
        self.ts_us = scrape.ts_us
        self.least_since_us = scrape.ts_us
        """The earliest window of a port that is still open; it may be closed by now."""
        self.settled_us = scrape.ts_us
        """Up to when the pasts of its ports are written."""

    def stands(self, scrape: PortScrape, column: str, names: list[str], epochs: list[str], form: CounterForm) -> bool:
        """Is this scrape's column the same, later, and no news by its refresh period?"""
        refresh_us = form.refresh_us
        return (
            scrape.ts_us > self.ts_us
            and not scrape.baseline
            and self.cells == scrape.columns.get(column)
            and self.names == names
            and self.epochs == epochs
            and self.form == form
            and self.ended == scrape.saturated.get(column)
            and (refresh_us is None or scrape.ts_us - self.least_since_us < refresh_us)
        )


class Ledger:
    """Where every counter that was asked for stood.

    `rates`: refuse a window shorter than half of the column's usual one: its sample is as if it had not come, and
    the next one has the whole growth.
    """

    __slots__ = ("_pasts", "_rates", "_rhythms", "_wholes")

    def __init__(self, *, rates: bool = False) -> None:
        self._rates = rates
        self._pasts: dict[str, dict[str, Past]] = {}
        self._wholes: dict[str, Whole] = {}
        self._rhythms: dict[str, Rhythm] = {}

    def take(self, scrape: PortScrape, columns: Iterable[str], units: Mapping[str, str]) -> Changes:
        """One scrape. First samples, growth, resets and counters that went blind; not those that stand still.

        `units`: column -> unit, where a line's rate bounds it.
        """
        names = [port.name for port in scrape.ports]
        epochs = [scrape.epoch_of(row) for row in range(len(names))] if scrape.port_epochs else [scrape.epoch]
        moved: list[tuple[str, CounterForm]] = []
        narrow = False
        for column in columns:
            form = scrape.forms.get(column, PLAIN)
            whole = self._wholes.get(column)
            if self._rates and self._too_soon(column, whole, names, scrape.ts_us):
                continue
            if whole is not None and whole.stands(scrape, column, names, epochs, form):
                whole.ts_us = scrape.ts_us
                continue
            if whole is not None:
                self._settle(column, whole)
            moved.append((column, form))
            narrow = narrow or (form.bits == WRAPS_AT and form.kind == "counter")
        fallen = self._fallen(scrape, [column for column, _ in moved], names) if narrow else {}
        out: Changes = {}
        for column, form in moved:
            self._column(out, scrape, column, names, epochs, form, units.get(column), fallen)
        return out

    def past(self, column: str, port: str) -> Past | None:
        """Where a counter of a port stood when it was read last."""
        whole = self._wholes.get(column)
        if whole is not None:
            self._settle(column, whole)
        return self._pasts.get(column, {}).get(port)

    def put(self, column: str, port: str, past: Past) -> None:
        """Begin with a past that was kept elsewhere."""
        self._pasts.setdefault(column, {})[port] = past

    def told(self, column: str, port: str, ts_us: int) -> bool:
        """Was it read at `ts_us`, and did that reading end a window? Without a change in it, it stood still."""
        past = self.past(column, port)
        return past is not None and past.ts_us == ts_us and past.since_us == ts_us and not past.blind

    def _too_soon(self, column: str, whole: Whole | None, names: list[str], ts_us: int) -> bool:
        rhythm = self._rhythms.setdefault(column, Rhythm())
        nominal_us = rhythm.nominal_us()
        if whole is not None and nominal_us is not None and whole.names == names:
            gap_us = ts_us - whole.ts_us
            if 0 < gap_us < nominal_us / 2:
                return True
        rhythm.learn(ts_us)
        return False

    def _settle(self, column: str, whole: Whole) -> None:
        """Write down how far the ports of a standing column were read."""
        if whole.settled_us == whole.ts_us:
            return
        whole.settled_us = whole.ts_us
        pasts = self._pasts[column]
        renewed = whole.form.refresh_us is None
        for row, name in enumerate(whole.names):
            value = _cell(whole.cells, whole.ended, row)
            if value is None:
                continue
            past = pasts.get(name)
            if past is None or past.ts_us >= whole.ts_us or past.value != value:
                continue  # a value that is no count
            since_us = whole.ts_us if renewed and not past.blind else past.since_us
            pasts[name] = Past(value, whole.ts_us, since_us, past.epoch, past.blind)

    def _fallen(self, scrape: PortScrape, columns: list[str], names: list[str]) -> dict[int, int]:
        """Row -> how many of its counters fell: two at once were cleared. Where more counters of the whole device
        fell than grew, all were."""
        out: dict[int, int] = {}
        fell = grew = 0
        for column in columns:
            pasts = self._pasts.get(column, {})
            cells, ended = scrape.columns.get(column, []), scrape.saturated.get(column)
            for row, name in enumerate(names):
                value, past = _cell(cells, ended, row), pasts.get(name)
                if value is None or past is None or value == past.value or scrape.ts_us <= past.ts_us:
                    continue
                if value < past.value:
                    out[row] = out.get(row, 0) + 1
                    fell += 1
                else:
                    grew += 1
        return dict.fromkeys(range(len(names)), fell) if fell > max(1, grew) else out

    def _column(
        self,
        out: Changes,
        scrape: PortScrape,
        column: str,
        names: list[str],
        epochs: list[str],
        form: CounterForm,
        unit: str | None,
        fallen: Mapping[int, int],
    ) -> None:
        ts_us, baseline = scrape.ts_us, scrape.baseline
        pasts = self._pasts.setdefault(column, {})
        cells, ended = scrape.columns.get(column, []), scrape.saturated.get(column)
        plain = form.refresh_us is None and form.kind != "saturating_counter" and not baseline
        single = epochs[0] if len(epochs) == 1 and not scrape.port_epochs else None
        least_since_us = ts_us
        for row, name in enumerate(names):
            value = _cell(cells, ended, row)
            if value is None:
                continue
            past = pasts.get(name)
            epoch = single if single is not None else epochs[row]
            if (
                plain
                and past is not None
                and value == past.value
                and ts_us > past.ts_us
                and epoch == past.epoch
                and not past.blind
            ):
                pasts[name] = Past(value, ts_us, ts_us, epoch)
                continue
            after, change = advance(
                past,
                value,
                ts_us,
                form=form,
                epoch=epoch,
                ceiling_per_s=None if unit is None else line_rate_per_s(unit, scrape.ports[row].speed_gbps),
                baseline=baseline,
                cleared=fallen.get(row, 0) > 1,
            )
            if after is not None:
                pasts[name] = after
                least_since_us = min(least_since_us, after.since_us)
            if change is not None and _says(change, past):
                out.setdefault(row, {})[column] = change
        if len(pasts) > 2 * (len(names) + SPARE_PORTS):
            self._pasts[column] = dict(sorted(pasts.items(), key=_read_us)[-(len(names) + SPARE_PORTS) :])
        whole = self._wholes.get(column)
        if whole is None or ts_us > whole.ts_us:
            whole = self._wholes[column] = Whole(scrape, column, names, epochs, form)
            whole.least_since_us = least_since_us


def _cell(cells: Cells, ended: Cells | None, row: int) -> int | float | None:
    """What a counter stands at, its end included."""
    value = cells[row] if row < len(cells) else None
    if value is None and ended is not None and row < len(ended):
        return ended[row]
    return value


def _says(change: Change, past: Past | None) -> bool:
    if change.blind:
        return past is None or not past.blind
    return change.delta != 0 or change.reset or change.first


def _read_us(item: tuple[str, Past]) -> Any:
    return item[1].ts_us
