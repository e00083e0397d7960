"""The ledger answers as `advance_group` does port by port, however its columns come."""

from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.contract.fabric import CounterForm, Port, PortScrape
from streams.counter_columns import Ledger
from streams.counters import Change, Past, advance_group, line_rate_per_s, stands_at

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


def port_by_port(
    pasts: dict[str, dict[str, Past]], scrape: PortScrape
) -> tuple[dict[str, dict[str, Past]], dict[int, dict[str, Change]]]:
    out: dict[int, dict[str, Change]] = {}
    for row, port in enumerate(scrape.ports):
        before = pasts.get(port.name, {})
        rate = line_rate_per_s("packets", port.speed_gbps)
        assert rate is not None
        after, changes = advance_group(
            before,
            {name: stands_at(scrape, name, row) for name in FORMS},
            scrape.ts_us,
            forms=scrape.forms,
            epoch=scrape.epoch_of(row),
            ceilings_per_s=dict.fromkeys(FORMS, rate),
            baseline=scrape.baseline,
        )
        pasts = {**pasts, port.name: after}
        said = {
            name: change
            for name, change in changes.items()
            if (change.blind and not (name in before and before[name].blind))
            or (not change.blind and (change.delta != 0 or change.reset or change.first))
        }
        if said:
            out[row] = said
    return pasts, out


@settings(max_examples=400, deadline=None)
@given(scrapes())
def test_the_ledger_says_what_the_counters_say_one_by_one(told: list[PortScrape]) -> None:
    ledger = Ledger()
    pasts: dict[str, dict[str, Past]] = {}
    for scrape in told:
        pasts, expected = port_by_port(pasts, scrape)
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
