"""Messages into rows."""

from typing import Any

import duckdb
import pytest

from collectors.contract.beat import Beat
from collectors.contract.gpu import Entities, Gpu, GpuScrape
from collectors.contract.job import CollectiveWindow, CommMember
from collectors.contract.topics import COLLECTOR_BEATS, FABRIC_SCRAPES, GPU_SCRAPES, JOB_EVENTS, JOB_STEPS, NCCL_WINDOWS
from tests.warehouse.messages import T0, gpu_scrape, job_placed, one_of_each, port_scrape
from warehouse import connect, schema
from warehouse.loader import UnfitMessage, write
from warehouse.place import Place
from warehouse.rows.arrow import Tables
from warehouse.rows.topics import rows_of
from warehouse.settings import WarehouseSettings


def shown(tables: Tables, name: str, *columns: str) -> list[tuple[Any, ...]]:
    table = tables[name].select(list(columns))
    return [tuple(row.values()) for row in table.to_pylist()]


def test_a_gpu_field_with_a_column_goes_there_and_one_without_becomes_rows() -> None:
    tables = rows_of(GPU_SCRAPES.name, [gpu_scrape()])
    assert shown(tables, "gpu_scrapes", "gpu_uuid", "hpc_job", "pod_uid", "sm_clock_mhz", "energy_mj") == [
        ("GPU-a", "77", None, 1980.0, 7),
        ("GPU-b", None, "u-1", 0.0, None),
    ]
    assert shown(tables, "gpu_fields", "gpu_uuid", "field", "name", "value") == [
        ("GPU-a", 55, None, 1.0),
        ("GPU-b", 55, None, None),
        ("GPU-a", None, "my_metric", 0.5),
        ("GPU-b", None, "my_metric", None),
    ]
    assert shown(tables, "scrape_errors", "subject", "part", "why") == [("n1", "1004", "not supported")]


def test_switches_links_and_cpus_become_rows_that_name_their_place() -> None:
    entities = [
        Entities(kind="nvlink", ids=["3"], parents=["GPU-a"], columns={"1525": [None]}),
        Entities(kind="nvswitch_link", ids=["3"], parents=["nvswitch0"], columns={"786": [6.0]}),
        Entities(kind="cpu", ids=["0"], named={"watts": [9.0]}),
    ]
    scrape = gpu_scrape(gpus=[Gpu(uuid="GPU-a")], columns={}, named={}, entities=entities)
    assert shown(
        rows_of(GPU_SCRAPES.name, [scrape]), "gpu_fields", "gpu_uuid", "entity", "part", "field", "name", "value"
    ) == [
        ("GPU-a", "nvlink", "3", 1525, None, None),
        (None, "nvswitch_link", "nvswitch0/3", 786, None, 6.0),
        (None, "cpu", "0", None, "watts", 9.0),
    ]


def test_not_sent_could_not_be_read_and_zero_stay_apart() -> None:
    first = gpu_scrape(columns={"100": [0.0, None]})
    second = gpu_scrape(columns={"150": [50.0, 51.0]})
    rows = shown(rows_of(GPU_SCRAPES.name, [first, second]), "gpu_scrapes", "sm_clock_mhz", "gpu_temp_c", "unread")
    assert rows == [(0.0, None, None), (None, None, [100]), (None, 50.0, None), (None, 51.0, None)]


def test_a_number_that_is_not_whole_does_not_lose_its_fraction_in_a_whole_column() -> None:
    tables = rows_of(GPU_SCRAPES.name, [gpu_scrape(columns={"156": [7.5, 8.0]}, named={})])
    assert shown(tables, "gpu_scrapes", "energy_mj") == [(None,), (8,)]
    assert shown(tables, "gpu_fields", "gpu_uuid", "field", "value") == [("GPU-a", 156, 7.5)]


def test_counters_are_exact_to_64_bits_wide_and_long() -> None:
    tables = rows_of(FABRIC_SCRAPES.name, [port_scrape()])
    assert shown(tables, "port_scrapes", "port", "rx_bytes", "lossless") == [
        ("Ethernet0", 2**64 - 1, [3]),
        ("Ethernet4", 5, None),
    ]
    assert shown(tables, "port_classes", "port", "index", "lossless", "pfc_rx_frames", "unread") == [
        ("Ethernet0", "3", True, 2**63, None),
        ("Ethernet4", "3", None, None, ["pfc_rx_frames"]),
    ]
    assert shown(tables, "port_fields", "port", "counter", "index", "named", "count", "value", "text") == [
        ("Ethernet0", "queue_avg_bytes", "3", False, 9, None, None),
        ("Ethernet4", "queue_avg_bytes", "3", False, None, None, None),
        ("Ethernet0", "own", None, True, None, None, "up"),
        ("Ethernet4", "own", None, True, None, 1.5, None),
    ]


@pytest.mark.parametrize("odd", [2**64, -1, 2.5])
def test_a_counter_value_that_its_column_cannot_hold_stands_in_the_long_table(odd: float) -> None:
    tables = rows_of(FABRIC_SCRAPES.name, [port_scrape(columns={"port_rx_bytes": [odd, 5]}, named={})])
    assert shown(tables, "port_scrapes", "rx_bytes") == [(None,), (5,)]
    assert shown(tables, "port_fields", "port", "counter", "value") == [("Ethernet0", "port_rx_bytes", float(odd))]


def test_a_counter_at_its_end_is_unread_in_its_column_and_kept_beside() -> None:
    ends: dict[str, Any] = {
        "columns": {"ib_link_down_events": [None, 3]},
        "saturated": {"ib_link_down_events": [255, None]},
        "named": {},
    }
    tables = rows_of(FABRIC_SCRAPES.name, [port_scrape(**ends)])
    assert shown(tables, "port_scrapes", "ib_link_down_events", "unread") == [
        (None, ["ib_link_down_events"]),
        (3, None),
    ]
    assert shown(tables, "port_fields", "port", "counter", "count") == [
        ("Ethernet0", "saturated:ib_link_down_events", 255)
    ]


def test_counters_of_one_priority_share_a_row_and_those_of_another_scrape_do_not() -> None:
    first = port_scrape(columns={"pfc_rx_frames.3": [1, 2], "pfc_tx_frames.3": [3, 4.5], "pfc_rx_frames.4": [5, 6]})
    second = port_scrape(T0 + 1, columns={"pfc_tx_frames.3": [7, 8]})
    tables = rows_of(FABRIC_SCRAPES.name, [first, second])
    assert shown(tables, "port_classes", "port", "index", "pfc_rx_frames", "pfc_tx_frames") == [
        ("Ethernet0", "3", 1, 3),
        ("Ethernet4", "3", 2, None),
        ("Ethernet0", "4", 5, None),
        ("Ethernet4", "4", 6, None),
        ("Ethernet0", "3", None, 7),
        ("Ethernet4", "3", None, 8),
    ]
    assert ("Ethernet4", "pfc_tx_frames", "3", 4.5) in shown(tables, "port_fields", "port", "counter", "index", "value")


def test_a_scrape_without_gpus_is_a_row_that_names_the_node_and_no_silence() -> None:
    tables = rows_of(GPU_SCRAPES.name, [gpu_scrape(gpus=[], columns={}, named={}, errors={})])
    assert tables.keys() == {"gpu_fields"}
    assert shown(tables, "gpu_fields", "node", "entity", "part", "field", "name", "gpu_uuid") == [
        ("n1", "node", "n1", None, None, None)
    ]


def test_a_device_without_ports_is_a_row_among_those_of_others() -> None:
    bare = port_scrape(device="leaf2", ports=[], columns={}, named={}, kind="hca")
    tables = rows_of(FABRIC_SCRAPES.name, [port_scrape(), bare, port_scrape(T0 + 1)])
    assert shown(tables, "port_scrapes", "device", "kind", "port", "rx_bytes") == [
        ("leaf1", "switch", "Ethernet0", 2**64 - 1),
        ("leaf1", "switch", "Ethernet4", 5),
        ("leaf2", "hca", None, None),
        ("leaf1", "switch", "Ethernet0", 2**64 - 1),
        ("leaf1", "switch", "Ethernet4", 5),
    ]


def test_a_piece_of_a_scrape_has_no_rows_since_the_whole_one_follows() -> None:
    assert rows_of(GPU_SCRAPES.name, [gpu_scrape(part=True)]) == {}
    assert len(rows_of(GPU_SCRAPES.name, [gpu_scrape(part=True), gpu_scrape()])["gpu_scrapes"]) == 2


def test_columns_that_are_not_parallel_are_told() -> None:
    with pytest.raises(ValueError, match="column 100 has 1 values for 2 rows"):
        rows_of(GPU_SCRAPES.name, [gpu_scrape(columns={"100": [1.0]})])


def test_a_time_in_the_wrong_unit_is_told() -> None:
    with pytest.raises(ValueError, match="not in Unix microseconds"):
        rows_of(GPU_SCRAPES.name, [gpu_scrape(ts_us=T0 * 1000)])


def test_a_placed_event_is_one_event_and_a_row_a_rank() -> None:
    tables = rows_of(JOB_EVENTS.name, [job_placed()])
    assert shown(tables, "job_events", "job", "kind", "ranks", "topic") == [("train", "placed", 2, "job.events.v1")]
    assert shown(tables, "placements", "rank", "node", "gpu_uuid", "dp", "tp", "virtual_stages") == [
        (0, "n1", "GPU-n1", 0, None, [0, 2]),
        (1, "n2", "GPU-n2", 1, None, [1, 3]),
    ]


def test_a_column_of_a_step_report_that_was_not_sent_is_null() -> None:
    report = next(message for topic, message in one_of_each() if topic is JOB_STEPS)
    rows = shown(rows_of(JOB_STEPS.name, [report]), "rank_steps", "rank", "step_s", "wait_s", "tokens")
    assert rows == [(0, 1.5, None, 4096), (1, 2.0, None, None)]


def test_microbatches_are_lists_and_a_configuration_stands_in_every_row() -> None:
    report = next(message for topic, message in one_of_each() if topic is JOB_STEPS)
    names = ("global_batch_size", "microbatch_forward_s", "microbatch_backward_s", "config_hash")
    assert shown(rows_of(JOB_STEPS.name, [report]), "rank_steps", *names) == [
        (512, [0.25, 0.5], [0.5, 1.0], "9f2c"),
        (None, None, [], "9f2c"),
    ]


def test_a_dump_of_the_flight_recorder_keeps_what_did_not_finish() -> None:
    window = CollectiveWindow(
        ts_us=T0,
        job="train",
        node="n1",
        source="flight-recorder",
        comm="pg:1",
        comm_size=None,
        job_rank=3,
        rank=[None, 1],
        seq=[6, 7],
        coll=["AllReduce", "AllReduce"],
        state=["completed", "started"],
        created_us=[T0 - 5, T0 - 4],
        completed_us=[T0 - 1, None],
    )
    tables = rows_of(NCCL_WINDOWS.name, [window])
    assert shown(tables, "collectives", "source", "job_rank", "comm_size", "rank", "seq", "state", "exec_us") == [
        ("flight-recorder", 3, None, None, 6, "completed", None),
        ("flight-recorder", 3, None, 1, 7, "started", None),
    ]
    ended = [row[0] is None for row in shown(tables, "collectives", "completed_at")]
    assert (ended, "comm_members" in tables) == ([False, True], False)


def test_members_of_a_communicator_are_rows_whether_or_not_it_did_anything() -> None:
    gone = CommMember(rank=1, host="10.0.0.2", pid=9, gpu=0, state="dead")
    window = CollectiveWindow(
        ts_us=T0, job="t", node="n1", source="nccl-ras", comm="a", comm_size=2, members=[gone], rank=[], seq=[], coll=[]
    )
    tables = rows_of(NCCL_WINDOWS.name, [window])
    assert shown(tables, "comm_members", "comm", "comm_size", "rank", "host", "pid", "gpu", "nvml", "state") == [
        ("a", 2, 1, "10.0.0.2", 9, 0, None, "dead")
    ]
    assert "collectives" not in tables


def test_write_refuses_an_unfit_message_before_it_writes(lake: duckdb.DuckDBPyConnection, place: Place) -> None:
    with pytest.raises(UnfitMessage, match=r"gpu\.scrapes\.v1: does not fit the tables: column 100"):
        write(lake, [(GPU_SCRAPES, [gpu_scrape(), gpu_scrape(columns={"100": [1.0]})])], place=place)
    assert lake.execute("select count(*) from gpu_scrapes").fetchall() == [(0,)]


def test_the_same_uuid_may_stand_for_several_mig_instances(lake: duckdb.DuckDBPyConnection, place: Place) -> None:
    gpus = [Gpu(uuid="GPU-a", mig="1g.10gb/7"), Gpu(uuid="GPU-a", mig="1g.10gb/8")]
    write(lake, [(GPU_SCRAPES, [gpu_scrape(gpus=gpus)])], place=place)
    assert lake.execute("select mig from gpu_now order by mig").fetchall() == [("1g.10gb/7",), ("1g.10gb/8",)]


def test_a_number_with_more_digits_than_its_column_keeps_is_rounded_and_costs_no_row() -> None:
    big = 67_358_889  # more than the 24 bits of a REAL
    scrape = GpuScrape(
        node="n", ts_us=T0, gpus=[Gpu(uuid="g")], columns={"155": [big], "100": [2**60 + 1]}, named={"x": [2**60 + 1]}
    )
    tables = rows_of(GPU_SCRAPES.name, [scrape])
    assert tables["gpu_scrapes"].column("power_w").to_pylist() == [67_358_888.0]
    assert tables["gpu_scrapes"].column("sm_clock_mhz").to_pylist() == [float(2**60)]
    assert tables["gpu_fields"].column("value").to_pylist() == [float(2**60)]


def test_what_a_collector_read_and_passed_over_stands_by_its_sweep(
    lake: duckdb.DuckDBPyConnection, place: Place
) -> None:
    beats = [
        Beat(
            collector="remote-write@n1", source="remote-write", ts_us=T0, bytes=700, ignored={"stale": 2, "foreign": 5}
        ),
        Beat(collector="kernel@n1", source="kernel", ts_us=T0 + 1),
    ]
    write(lake, [(COLLECTOR_BEATS, beats)], place=place)
    assert lake.execute("select bytes, ignored, ignored['stale'] from beats order by ts").fetchall() == [
        (700, {"stale": 2, "foreign": 5}, 2),
        (0, {}, None),
    ]


def test_beats_of_a_version_without_bytes_say_that_nobody_counted(
    settings: WarehouseSettings, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = dict(schema.tables())
    older["beats"] = older["beats"].replace(",\n    bytes BIGINT,\n    ignored MAP(VARCHAR, BIGINT)", "")
    views = {name: text.replace("    sum(bytes) as bytes,\n", "") for name, text in schema.views().items()}
    with monkeypatch.context() as then:
        then.setattr(schema, "tables", lambda: older)
        then.setattr(schema, "views", lambda: views)
        schema.digest.cache_clear()
        with connect(read_only=False, settings=settings) as lake:
            lake.execute("insert into beats (collector, samples) values ('kernel@n1', 3)")
    schema.digest.cache_clear()
    with connect(read_only=False, settings=settings) as lake:
        assert lake.execute("select samples, bytes, ignored from beats").fetchall() == [(3, None, None)]
