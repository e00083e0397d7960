"""Cells, rows and columns of one device."""

from collectors.fabric.block import Block
from collectors.fabric.grid import Grid
from collectors.fabric.series import Every, Series, Site
from collectors.fabric.vocabulary import counter_table

OCTETS = counter_table("openconfig").find("/interfaces/interface/state/counters/in-octets")
SECOND = 1_000_000


def octets(row: str, every: Every = Every()) -> Series:  # noqa: B008
    return Series(row, "/interfaces/interface/state/counters/in-octets", counter=OCTETS, every=every)


def put(grid: Grid, series: Series, value: int | str) -> None:
    grid.put(grid.cell(series), value, (1, grid.round))


def test_rows_stand_in_natural_order() -> None:
    grid = Grid(site=Site())
    for row in ("Ethernet10", "Ethernet9", "Ethernet2/1"):
        put(grid, octets(row), 1)
    scrape = grid.cut("leaf", 1, cluster="c")
    assert [port.name for port in scrape.ports] == ["Ethernet2/1", "Ethernet9", "Ethernet10"]


def test_a_value_that_a_row_never_had_is_none_and_zero_is_zero() -> None:
    grid = Grid(site=Site())
    put(grid, octets("a"), 0)
    put(grid, Series("b", "/x"), "text")
    scrape = grid.cut("leaf", 1, cluster="c")
    assert (scrape.columns, scrape.named) == ({"port_rx_bytes": [0, None]}, {"/x": [None, "text"]})


def test_a_value_that_stays_away_three_rounds_is_no_longer_known() -> None:
    grid = Grid(site=Site(), interval_us=SECOND)
    sampled, silent = octets("a", Every(SECOND)), octets("b", Every(SECOND))
    put(grid, silent, 7)
    seen = []
    for _ in range(5):
        put(grid, sampled, 1)
        seen.append(grid.cut("leaf", 1, cluster="c").columns["port_rx_bytes"][1])
    assert seen == [7, 7, 7, 7, None]


def test_a_value_told_on_change_stays_known() -> None:
    grid = Grid(site=Site(), interval_us=SECOND)
    put(grid, octets("a"), 7)
    assert [grid.cut("leaf", 1, cluster="c").columns["port_rx_bytes"] for _ in range(9)] == [[7]] * 9


def test_a_slow_counter_says_how_often_it_is_renewed() -> None:
    grid = Grid(site=Site(), interval_us=SECOND)
    put(grid, octets("a", Every(SECOND, 10 * SECOND)), 7)
    assert grid.cut("leaf", 1, cluster="c").forms["port_rx_bytes"].refresh_us == 10 * SECOND


def test_a_value_that_cannot_be_read_is_none_and_said_so_once() -> None:
    grid = Grid(site=Site())
    put(grid, octets("a"), "N/A")
    scrape, after = grid.cut("leaf", 1, cluster="c"), grid.cut("leaf", 1, cluster="c")
    assert (scrape.columns, list(scrape.errors), after.errors) == ({"port_rx_bytes": [None]}, ["port_rx_bytes"], {})


def test_of_twins_the_best_ranked_stands_in_the_column_and_nothing_is_added() -> None:
    table = counter_table("openconfig").exact
    root = "/interfaces/interface/ethernet/state/"
    grid = Grid(site=Site(), keep_ignored=True)
    for leaf, speed in (("negotiated-port-speed", "SPEED_100GB"), ("port-speed", "SPEED_400GB")):
        put(grid, Series("a", root + leaf, counter=table[root + leaf]), speed)
    scrape = grid.cut("leaf", 1, cluster="c")
    assert scrape.named == {"port_speed_id": ["SPEED_400GB"], root + "negotiated-port-speed": ["SPEED_100GB"]}
    assert scrape.ports[0].speed_gbps == 400.0


def test_ports_carry_the_lossless_priorities_and_parts_do_not() -> None:
    grid = Grid(site=Site(lossless=(3, 4)))
    put(grid, octets("Ethernet1"), 1)
    put(grid, Series("component:CM-1", "/x"), 1)
    scrape = grid.cut("leaf", 1, cluster="c")
    assert [(port.name, port.lossless) for port in scrape.ports] == [("Ethernet1", [3, 4]), ("component:CM-1", None)]


def test_a_port_that_goes_down_is_told_without_a_new_layout() -> None:
    grid = Grid(site=Site())
    state = counter_table("openconfig").find("/interfaces/interface/state/oper-status")
    series = Series("a", "/interfaces/interface/state/oper-status", counter=state)
    put(grid, series, "UP")
    first = grid.cut("leaf", 1, cluster="c")
    put(grid, series, "DOWN")
    second = grid.cut("leaf", 1, cluster="c")
    assert [first.ports[0].oper_up, second.ports[0].oper_up] == [True, False]


def test_a_dropped_row_is_gone() -> None:
    grid = Grid(site=Site())
    put(grid, octets("a"), 1)
    put(grid, octets("b"), 2)
    assert grid.drop(lambda series: series.row == "a") == 1
    assert grid.cut("leaf", 1, cluster="c").columns == {"port_rx_bytes": [2]}


def test_a_port_whose_counters_broke_has_an_epoch_of_its_own() -> None:
    table = counter_table("snmp").exact
    grid = Grid(site=Site())
    broke = Series("a", "IF-MIB::ifCounterDiscontinuityTime", counter=table["IF-MIB::ifCounterDiscontinuityTime"])
    put(grid, octets("a"), 1)
    put(grid, octets("b"), 1)
    put(grid, broke, 0)
    before = grid.cut("leaf", 1, cluster="c")
    put(grid, broke, 5)
    after = grid.cut("leaf", 2, cluster="c")
    put(grid, broke, "no number")
    unread = grid.cut("leaf", 3, cluster="c")
    assert [[scrape.epoch_of(row) for row in (0, 1)] for scrape in (before, after, unread)] == [
        ["break:0", ""],
        ["break:5", ""],
        ["break:5", ""],
    ]


def test_a_speed_in_megabits_is_the_ports_speed_and_zero_is_not_known() -> None:
    mbps = counter_table("snmp").exact["IF-MIB::ifHighSpeed"]
    grid = Grid(site=Site())
    for row, speed in (("a", 400_000), ("b", 0)):
        put(grid, Series(row, "IF-MIB::ifHighSpeed", counter=mbps), speed)
    scrape = grid.cut("leaf", 1, cluster="c")
    assert [port.speed_gbps for port in scrape.ports] == [400.0, None]


PACKETS = counter_table("openconfig").find("/interfaces/interface/state/counters/in-pkts")
STATE = counter_table("openconfig").find("/interfaces/interface/state/oper-status")


def block(grid: Grid, every: Every = Every()) -> Block:  # noqa: B008
    """Octets of ports a and b, packets of b alone, whether b is up; the values come in the order b, a."""
    packets = Series("b", "/interfaces/interface/state/counters/in-pkts", counter=PACKETS, every=every)
    state = Series("b", "/interfaces/interface/state/oper-status", counter=STATE)
    cells = [grid.cell(s) for s in (octets("b", every), packets, state, octets("a", every))]
    made = Block(cells, [0, 1, 2, 3])
    grid.hold(made)
    return made


def take(grid: Grid, held: Block, *values: int) -> None:
    grid.take(held, [*values, None], (grid.round, grid.round))


def test_columns_of_a_block_are_what_its_cells_would_say() -> None:
    grid = Grid(site=Site())
    held = block(grid)
    seen = []
    for n in range(3):
        take(grid, held, 10 + n, 20 + n, n % 2, 30 + n)
        scrape = grid.cut("leaf", 1, cluster="c")
        seen.append((scrape.columns["port_rx_bytes"], scrape.columns["port_rx_packets"], scrape.ports[1].oper_up))
    assert seen == [([30, 10], [None, 20], False), ([31, 11], [None, 21], True), ([32, 12], [None, 22], False)]


def test_a_block_that_stays_away_three_rounds_is_no_longer_known() -> None:
    grid = Grid(site=Site(), interval_us=SECOND)
    held = block(grid, Every(SECOND))
    seen = []
    for n in range(6):
        if n < 2:
            take(grid, held, 1, 2, 1, 3)
        seen.append(grid.cut("leaf", 1, cluster="c").columns["port_rx_bytes"])
    assert seen == [[3, 1]] * 5 + [[None, None]]


def test_a_value_put_by_itself_after_its_block_is_the_one_that_stands() -> None:
    grid = Grid(site=Site())
    held = block(grid)
    for _ in range(2):
        take(grid, held, 1, 2, 1, 3)
        grid.cut("leaf", 1, cluster="c")
    take(grid, held, 4, 5, 1, 6)
    grid.settle()
    put(grid, octets("a"), 7)
    assert grid.cut("leaf", 1, cluster="c").columns["port_rx_bytes"] == [7, 4]


def test_a_cell_of_two_blocks_holds_what_came_last() -> None:
    grid = Grid(site=Site())
    first, second = block(grid), block(grid)
    seen = []
    for n, held in enumerate((first, second, first, first, second)):
        take(grid, first if held is second else second, 0, 0, 0, 0)
        take(grid, held, n, 2, 1, n)
        seen.append(grid.cut("leaf", 1, cluster="c").columns["port_rx_bytes"])
    assert seen == [[n, n] for n in range(5)]


def test_a_block_that_was_let_go_leaves_its_values_in_the_cells() -> None:
    grid = Grid(site=Site())
    held = block(grid)
    for n in range(2):
        take(grid, held, n, 2, 1, 3)
        grid.cut("leaf", 1, cluster="c")
    take(grid, held, 8, 2, 1, 9)
    grid.let_go(held)
    assert grid.cut("leaf", 1, cluster="c").columns["port_rx_bytes"] == [9, 8]
