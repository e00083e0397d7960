"""The ledger answers as `advance` does one by one, however its columns come."""

from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.contract.fabric import CounterForm, Port, PortScrape
from streams.counter_columns import Ledger
from streams.counters import Change, Past, advance, line_rate_per_s

S = 1_000_000
FORMS = {
    "plain": CounterForm(),
    "narrow": CounterForm(bits=32),
    "ends": CounterForm(kind="saturating_counter", bits=4),
    "slow": CounterForm(refresh_us=10 * S),
}
UNITS = dict.fromkeys(FORMS, "packets")
PORTS = ("a", "b", "c")

cells = st.one_of(st.none(), st.integers(0, 15), st.sampled_from([-1, (1 << 32) - 3, (1 << 32) - 1]))


@st.composite
def scrapes(draw: st.DrawFn) -> list[PortScrape]:
    """A device seen again and again: mostly the same cells, some late, some ports missing, restarts, clears."""
    out: list[PortScrape] = []
    now_s = 100
    standing: dict[str, dict[str, int | None]] = {name: dict.fromkeys(PORTS, 0) for name in FORMS}
    for _ in range(draw(st.integers(2, 12))):
        now_s += draw(st.integers(0, 9))
        for name in draw(st.lists(st.sampled_from(sorted(FORMS)), max_size=2)):
            standing[name][draw(st.sampled_from(PORTS))] = draw(cells)
        ports = draw(st.sampled_from([PORTS, PORTS, PORTS, ("b", "a"), ("c",)]))
        columns: dict[str, list[int | float | None]] = {n: [standing[n][p] for p in ports] for n in FORMS}
        ended: dict[str, list[int | float | None]] = {}
        if draw(st.sampled_from([False, False, True])):
            ended = {"ends": [15, *[None] * (len(ports) - 1)]}
            columns["ends"] = [None, *columns["ends"][1:]]
        out.append(
            PortScrape(
                device="d",
                ts_us=(now_s - draw(st.sampled_from([0, 0, 0, 7]))) * S,
                epoch=draw(st.sampled_from(["1", "1", "1", "2"])),
                port_epochs=draw(st.sampled_from([[], [], ["x"] * len(ports)])),
                baseline=draw(st.sampled_from([False, False, False, True])),
                ports=[Port(name=p, speed_gbps=400.0) for p in ports],
                columns=columns,
                forms=FORMS,
                saturated=ended,
            )
        )
    return out


def stands_at(scrape: PortScrape, name: str, row: int) -> int | float | None:
    """What a counter of one port stands at, its end included."""
    for column in (scrape.columns[name], scrape.saturated.get(name)):
        if column is not None and column[row] is not None:
            return column[row]
    return None


def one_by_one(
    pasts: dict[str, dict[str, Past]], scrape: PortScrape
) -> tuple[dict[str, dict[str, Past]], dict[int, dict[str, Change]]]:
    """Where two counters of a port, or more of the device than grew, fall at once, they were cleared."""
    told = {
        (row, port.name, name): value
        for row, port in enumerate(scrape.ports)
        for name in FORMS
        if (value := stands_at(scrape, name, row)) is not None
    }
    moves: dict[int, list[int]] = {}
    for (row, port, name), value in told.items():
        past = pasts.get(port, {}).get(name)
        if past is not None and scrape.ts_us > past.ts_us and value != past.value:
            moves.setdefault(row, []).append(1 if value > past.value else -1)
    every = [move for row in moves.values() for move in row]
    all_fell = every.count(-1) > max(1, every.count(1))
    after = {port: dict(columns) for port, columns in pasts.items()}
    out: dict[int, dict[str, Change]] = {}
    for (row, port, name), value in told.items():
        before = pasts.get(port, {}).get(name)
        past, change = advance(
            before,
            value,
            scrape.ts_us,
            form=FORMS[name],
            epoch=scrape.epoch_of(row),
            ceiling_per_s=line_rate_per_s("packets", scrape.ports[row].speed_gbps),
            baseline=scrape.baseline,
            cleared=all_fell or moves.get(row, []).count(-1) > 1,
        )
        if past is not None:
            after.setdefault(port, {})[name] = past
        if change is None or (change.blind and before is not None and before.blind):
            continue
        if change.blind or change.delta != 0 or change.reset or change.first:
            out.setdefault(row, {})[name] = change
    return after, out


@settings(max_examples=400, deadline=None)
@given(scrapes())
def test_the_ledger_says_what_the_counters_say_one_by_one(told: list[PortScrape]) -> None:
    ledger = Ledger()
    pasts: dict[str, dict[str, Past]] = {}
    for scrape in told:
        pasts, expected = one_by_one(pasts, scrape)
        assert ledger.take(scrape, FORMS, UNITS) == expected
    assert {(p, n): ledger.past(n, p) for p in PORTS for n in FORMS} == {
        (p, n): pasts.get(p, {}).get(n) for p in PORTS for n in FORMS
    }


def of(at_s: int, value: int, refresh_us: int | None = None) -> PortScrape:
    return PortScrape(
        device="d",
        ts_us=at_s * S,
        ports=[Port(name="a")],
        columns={"x": [value]},
        forms={"x": CounterForm(refresh_us=refresh_us)},
    )


def test_a_window_shorter_than_half_of_the_usual_one_is_refused_and_its_growth_kept() -> None:
    ledger = Ledger(rates=True)
    for n in range(6):
        ledger.take(of(10 * n, n), ["x"], {})
    assert ledger.take(of(53, 9), ["x"], {}) == {}
    assert ledger.take(of(60, 10), ["x"], {}) == {0: {"x": Change(5, 10 * S)}}


def test_two_narrow_counters_of_a_port_that_fall_at_once_were_cleared() -> None:
    forms = {"x": CounterForm(bits=32), "y": CounterForm(bits=32)}

    def port(at_s: int, *values: int) -> PortScrape:
        columns: dict[str, list[int | float | None]] = {n: [v] for n, v in zip("xyabc", values, strict=True)}
        told = [Port(name="p", speed_gbps=400.0)]
        return PortScrape(device="d", ts_us=at_s * S, ports=told, columns=columns, forms=forms)

    high = (1 << 32) - 5
    for fell, expected in ((1, Change(6, 10 * S, wrapped=True)), (2, Change(0, 10 * S, reset=True))):
        ledger = Ledger()
        ledger.take(port(0, high, high, 1, 1, 1), "xyabc", dict.fromkeys("xyabc", "packets"))
        after = port(10, 1, 1 if fell == 2 else high, 2, 2, 2)
        assert ledger.take(after, "xyabc", dict.fromkeys("xyabc", "packets"))[0]["x"] == expected


def test_a_narrow_counter_of_each_port_that_falls_with_the_others_was_cleared_and_not_wrapped() -> None:
    def device(at_s: int, *values: int) -> PortScrape:
        told = [Port(name=f"p{i}", speed_gbps=400.0) for i in range(len(values))]
        forms = {"x": CounterForm(bits=32)}
        return PortScrape(device="d", ts_us=at_s * S, ports=told, columns={"x": list(values)}, forms=forms)

    almost = (1 << 32) - 5
    ledger = Ledger()
    ledger.take(device(0, almost, almost, 7), ["x"], {"x": "packets"})
    fell = ledger.take(device(10, 3, 4, 1), ["x"], {"x": "packets"})
    assert {row: change["x"] for row, change in fell.items()} == dict.fromkeys(range(3), Change(0, 10 * S, reset=True))
    ledger = Ledger()
    ledger.take(device(0, almost, 7, 7), ["x"], {"x": "packets"})
    wrapped = ledger.take(device(10, 3, 8, 9), ["x"], {"x": "packets"})
    assert wrapped[0]["x"] == Change(8, 10 * S, wrapped=True)


def test_a_counter_that_stands_inside_its_refresh_period_has_told_nothing() -> None:
    ledger = Ledger()
    for at_s in (0, 4, 8, 12):
        ledger.take(of(at_s, 7, refresh_us=10 * S), ["x"], {})
        assert ledger.told("x", "a", at_s * S) is (at_s in (0, 12))


def test_ports_without_end_are_not_remembered_without_end() -> None:
    ledger = Ledger()
    for n in range(5000):
        scrape = PortScrape(device="d", ts_us=n * S, ports=[Port(name=f"p{n}")], columns={"x": [1]})
        ledger.take(scrape, ["x"], {})
    remembered = [n for n in range(5000) if ledger.past("x", f"p{n}") is not None]
    assert remembered[-1] == 4999
    assert len(remembered) < 2100
