"""Views for people."""

import duckdb

from collectors.contract.job import JobEvent
from collectors.contract.message import Message
from collectors.contract.topics import FABRIC_SCRAPES, GPU_SCRAPES, JOB_EVENTS, JOB_PLACEMENTS, JOB_STEPS
from streams.contract import FINDINGS, INCIDENTS
from tests.warehouse.messages import T0, finding, gpu_scrape, incident, job_placed, one_of_each, port_scrape
from warehouse.loader import write
from warehouse.place import Place

S = 1_000_000
Lake = duckdb.DuckDBPyConnection


def test_gpu_health_has_a_row_a_gpu_and_scrape_and_gpu_now_the_last(lake: Lake, place: Place) -> None:
    scrapes: list[Message] = [gpu_scrape(T0 + at * S, columns={"100": [100.0 + at, 200.0]}) for at in range(3)]
    late = gpu_scrape(T0 + 10 * S, node="n2")
    write(lake, [(GPU_SCRAPES, [*scrapes, late])], place=place)
    assert lake.execute("select count(*) from gpu_health").fetchall() == [(8,)]
    now = "select node, gpu_index, sm_clock_mhz, behind_s from gpu_now order by node, gpu_index"
    assert lake.execute(now).fetchall() == [
        ("n1", 0, 102.0, 8.0),
        ("n1", 1, 200.0, 8.0),
        ("n2", 0, 1980.0, 0.0),
        ("n2", 1, 0.0, 0.0),
    ]


def test_what_holds_the_clocks_down_is_said_in_words(lake: Lake, place: Place) -> None:
    columns: dict[str, list[float | None]] = {"112": [float(0x40 | 0x8), 0.0]}
    scrapes = [gpu_scrape(columns=columns), gpu_scrape(T0 + S, columns={"112": [4.0, None]})]
    write(lake, [(GPU_SCRAPES, scrapes)], place=place)
    held = "select held_by, throttled from gpu_health order by ts, gpu_index"
    assert lake.execute(held).fetchall() == [
        (["hw_slowdown", "hw_thermal"], True),
        ([], False),
        (["power_cap"], False),
        ([], None),
    ]


def test_a_finding_is_one_row_whatever_the_number_of_its_edges(lake: Lake, place: Place) -> None:
    edges = [
        finding("opened", T0),
        finding("updated", T0 + 60 * S, value=1100.0),
        finding("updated", T0 + 60 * S, value=1100.0),
        finding("cleared", T0 + 90 * S),
    ]
    other = finding("opened", T0 + S, episode_us=T0 + S)
    write(lake, [(FINDINGS, [*edges, other])], place=place)
    rows = lake.execute(
        "select state, is_open, epoch_us(opened_at), epoch_us(cleared_at), edges, seconds from findings"
        " order by opened_at"
    ).fetchall()
    assert rows == [
        ("cleared", False, T0, T0 + 90 * S, 3, 90.0),
        ("opened", True, T0 + S, None, 1, 0.0),
    ]


def test_an_incident_shows_its_last_edge(lake: Lake, place: Place) -> None:
    edges: list[Message] = [
        incident("opened"),
        incident("updated", T0 + 5 * S, symptoms=["s-1", "s-2"], severity="warning"),
    ]
    write(lake, [(INCIDENTS, edges)], place=place)
    rows = lake.execute("select incident, severity, is_open, symptom_count, seconds from incidents").fetchall()
    assert rows == [("i-1", "warning", True, 2, 5.0)]


def test_port_rates_are_null_where_a_difference_means_nothing(lake: Lake, place: Place) -> None:
    def scrape(at: int, total: int, **changes: object) -> object:
        columns = {"port_rx_bytes": [total, 0], "port_rx_discard_packets": [total // 1000, 0]}
        return port_scrape(T0 + at * S, columns=columns, named={}, **changes)

    scrapes = [
        scrape(0, 0),
        scrape(10, 5_000_000_000),
        scrape(20, 1_000),
        scrape(30, 2_000, epoch="boot-2"),
        scrape(40, 3_000, epoch="boot-2", baseline=True),
        scrape(50, 4_000, epoch="boot-2"),
    ]
    write(lake, [(FABRIC_SCRAPES, scrapes)], place=place)  # type: ignore[list-item]
    rows = lake.execute(
        "select round(rx_gbps, 9), rx_discard_packets from port_rates where port = 'Ethernet0' order by ts"
    ).fetchall()
    assert rows == [(None, None), (4.0, 5_000_000), (None, None), (None, None), (None, None), (8e-7, 1)]


def test_a_placement_ends_with_the_next_placement_or_the_job(lake: Lake, place: Place) -> None:
    first, second = job_placed(), job_placed(T0 + 60 * S, nodes=("n1", "n3"), attempt=1)
    ended = JobEvent(job="train", kind="ended", attempt=1, ts_us=T0 + 90 * S, state="completed")
    write(
        lake,
        [(JOB_EVENTS, [first, second, ended]), (JOB_PLACEMENTS, [first, second])],
        place=place,
    )
    rows = lake.execute(
        "select rank, node, epoch_us(from_ts), epoch_us(until_ts) from job_placements order by from_ts, rank"
    ).fetchall()
    assert rows == [
        (0, "n1", T0, T0 + 60 * S),
        (1, "n2", T0, T0 + 60 * S),
        (0, "n1", T0 + 60 * S, T0 + 90 * S),
        (1, "n3", T0 + 60 * S, T0 + 90 * S),
    ]
    assert lake.execute("select attempt, state, ranks from jobs order by attempt").fetchall() == [
        (0, None, 2),
        (1, "completed", 2),
    ]


def test_the_pace_of_a_job_is_that_of_its_slowest_rank(lake: Lake, place: Place) -> None:
    steps = [message for topic, message in one_of_each() if topic is JOB_STEPS]
    write(lake, [(JOB_STEPS, steps)], place=place)
    rows = lake.execute(
        "select step, ranks, step_s, slowest_rank, tokens, epoch_us(started_at) from job_pace"
    ).fetchall()
    assert rows == [(3, 2, 2.0, 1, 4096, T0)]
