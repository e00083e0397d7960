"""DCGM in process: every sample at its own time, and an engine's troubles as data."""

import argparse
import math
import time
from pathlib import Path
from threading import Event

import pytest

from collectors.contract.topics import GPU_SCRAPES
from collectors.dcgm_engine import source
from collectors.dcgm_engine.bindings import load_bindings
from collectors.dcgm_engine.checks import sights
from collectors.dcgm_engine.reader import DcgmReader
from collectors.dcgm_engine.session import Where
from collectors.dcgm_engine.watched import Watch, watches
from collectors.gpu.reading import GpuTrouble, Reading, Row
from collectors.gpu.serving import once
from collectors.gpu.sweep import Names
from collectors.settings import this_node
from collectors.source import SourceError
from tests.collectors.fake_dcgm import FP64_BLANK, INT64_BLANK, FakeEngine
from tests.collectors.list_outlet import ListOutlet

T = 1_700_000_000_000_000
S = 1_000_000
EMBEDDED = Where()


def opened(engine: FakeEngine, wanted: tuple[Watch, ...] = watches(5.0, 30.0), where: Where = EMBEDDED) -> DcgmReader:
    reader = DcgmReader(engine.bindings(), where, "n1", wanted, now_us=lambda: T, sleep=lambda s: None)
    reader.open()
    return reader


def read(reader: DcgmReader, at_us: int = T + 15 * S) -> Reading:
    return reader._ask(at_us)


def row(reading: Reading, at_us: int, gpu: int = 0) -> Row:
    return reading.moments[at_us][gpu]


def test_no_sample_between_two_sweeps_is_lost_and_each_has_its_own_time() -> None:
    engine = FakeEngine()
    reader = opened(engine)
    for step, power in enumerate((600.0, 650.0, 700.0)):
        for gpu in (0, 1):
            engine.sample((1, gpu), 155, T + step * 5 * S + gpu, power + gpu)
            engine.sample((1, gpu), 150, T + step * 5 * S + 100 + gpu, 60 + step)
    found = read(reader)
    assert list(found.moments) == [T + 101, T + 5 * S + 101, T + 10 * S + 101]
    assert [row(found, at).values["155"] for at in found.moments] == [600.0, 650.0, 700.0]
    assert [row(found, at, 1).values["155"] for at in found.moments] == [601.0, 651.0, 701.0]
    assert [row(found, at).values["150"] for at in found.moments] == [60, 61, 62]
    assert read(reader).moments == {}


def test_what_another_client_sampled_before_is_not_taken_for_news() -> None:
    engine = FakeEngine()
    engine.sample((1, 0), 155, T - S, 1.0)
    engine.sample((1, 0), 230, T - S, 79)
    reader = opened(engine)
    assert read(reader).moments == {} and reader.faults() == []


def test_two_samples_of_a_field_within_one_pass_are_two_moments() -> None:
    engine = FakeEngine(gpus=1)
    reader = opened(engine)
    engine.sample((1, 0), 155, T + 10, 600.0)
    engine.sample((1, 0), 155, T + 20, 601.0)
    assert [r[0].values["155"] for r in read(reader).moments.values()] == [600.0, 601.0]


def test_limits_stand_in_every_message_and_the_rest_only_when_it_was_sampled() -> None:
    engine = FakeEngine(gpus=1)
    reader = opened(engine)
    engine.sample((1, 0), 113, T + 1, 1980)
    engine.sample((1, 0), 310, T + 1, 7)
    engine.sample((1, 0), 100, T + 1, 1500)
    engine.sample((1, 0), 100, T + 5 * S, 1600)
    first, second = read(reader).moments.values()
    assert first[0].values == {"113": 1980, "310": 7, "100": 1500}
    assert second[0].values == {"113": 1980, "100": 1600}


@pytest.mark.parametrize("blank", [INT64_BLANK + 1, INT64_BLANK + 2, FP64_BLANK + 1, FP64_BLANK + 2, 2147483634])
def test_what_the_gpu_does_not_have_is_absent(blank: float) -> None:
    engine = FakeEngine(gpus=1)
    reader = opened(engine)
    engine.sample((1, 0), 155, T, blank)
    engine.sample((1, 0), 150, T, 61)
    assert row(read(reader), T).values == {"150": 61}


@pytest.mark.parametrize("blank", [INT64_BLANK, INT64_BLANK + 9, FP64_BLANK, FP64_BLANK * 2, math.inf])
def test_a_blank_is_none_and_never_a_number(blank: float) -> None:
    engine = FakeEngine(gpus=1)
    reader = opened(engine)
    engine.sample((1, 0), 155, T, blank)
    assert row(read(reader), T).values == {"155": None}


def test_a_sample_that_failed_is_none_with_its_reason() -> None:
    engine = FakeEngine(gpus=1)
    reader = opened(engine)
    engine.sample((1, 0), 155, T, 0.0, status=-17)
    engine.sample((1, 0), 150, T, INT64_BLANK + 3)
    found = row(read(reader), T)
    assert found.values == {"155": None, "150": None}
    assert found.errors == {"155": "no permission", "150": "no permission"}


def test_an_xid_hidden_by_a_later_one_in_the_same_interval_is_told_too() -> None:
    engine = FakeEngine()
    reader = opened(engine)
    for ts_us, code in ((T + 1, 62), (T + 2, 45), (T + 2, 45), (T + 3, 0), (T + 4, INT64_BLANK)):
        engine.sample((1, 1), 230, ts_us, code)
    faults = reader.faults()
    assert [(f.ts_us, f.code, f.gpu and f.gpu.pci) for f in faults] == [
        (T + 1, 62, "0000:1b:00"),
        (T + 2, 45, "0000:1b:00"),
    ]
    assert reader.faults() == []


def test_a_field_that_this_dcgm_does_not_know_costs_no_other() -> None:
    engine = FakeEngine(unknown={1523, 1507})
    opened(engine)
    assert 1523 not in engine.watched["slow"][0] and 310 in engine.watched["slow"][0]


def test_profiling_that_is_refused_costs_nothing_else() -> None:
    engine = FakeEngine(refused={1001})
    reader = opened(engine)
    assert "prof" not in engine.watched and engine.watched["fast"][1] == 5.0 and engine.watched["slow"][1] == 30.0
    assert reader._session is not None and reader._session.lacks == {"prof": "Profiling not supported"}


def test_a_lost_gpu_says_so_and_the_others_go_on() -> None:
    engine = FakeEngine()
    reader = opened(engine)
    engine.statuses[1] = 4
    engine.sample((1, 0), 155, T, 600.0)
    engine.sample((1, 1), 155, T, FP64_BLANK)
    rows = read(reader).moments[T]
    assert rows[0].values == {"155": 600.0} and rows[0].trouble is None
    assert (rows[1].trouble, rows[1].lost, rows[1].values) == ("lost", True, {})


def test_a_gpu_that_was_lost_before_is_a_row_though_dcgm_takes_it_into_no_group() -> None:
    engine = FakeEngine(statuses={1: 4})
    reader = opened(engine)
    assert engine.grouped == [(1, 0)]
    engine.sample((1, 0), 155, T, 600.0)
    rows = read(reader).moments[T]
    assert [(r.gpu.uuid, r.trouble) for r in rows] == [
        ("GPU-00000000-0000-0000-0000-000000000000", None),
        ("n1/gpu1", "lost"),
    ]


def test_mig_instances_are_rows_after_their_gpu() -> None:
    engine = FakeEngine(instances={0: (0, 7, "1g.10gb"), 8: (1, 1, "3g.40gb")})
    reader = opened(engine)
    engine.sample((4, 0), 1002, T, 0.5)
    rows = read(reader).moments[T]
    assert [(r.gpu.index, r.gpu.mig) for r in rows] == [(0, None), (0, "1g.10gb/7"), (1, None), (1, "3g.40gb/1")]
    assert rows[1].values == {"1002": 0.5} and rows[1].gpu.uuid == rows[0].gpu.uuid
    assert [r.gpu.mig_uuid for r in rows] == [None, "MIG-0-7", None, "MIG-8-1"]


def test_instances_that_changed_ask_for_a_new_session() -> None:
    engine = FakeEngine()
    reader = opened(engine)
    engine.instances[0] = (0, 7, "1g.10gb")
    assert read(reader).reopen == "the MIG instances changed"


def test_what_is_read_while_the_driver_reinitialises_is_not_sent() -> None:
    engine = FakeEngine(gpus=1)
    reader = opened(engine)
    engine.sample((0, 0), 6, T + 1, 1)
    engine.sample((1, 0), 155, T + 2, 3.0)
    found = read(reader)
    assert found.moments == {} and found.why is not None and "re-initialises" in found.why
    engine.sample((0, 0), 6, T + 3, 2)
    assert read(reader).reopen == "the driver has re-initialised the GPUs"


def test_an_engine_that_samples_nothing_any_more_is_told() -> None:
    reader = opened(FakeEngine())
    assert read(reader, T + 10 * S).why is None
    assert read(reader, T + 20 * S).why == "DCGM took no sample for 20 s"


def test_a_lost_connection_is_trouble_with_what_to_look_at_and_the_next_open_connects_anew() -> None:
    engine = FakeEngine()
    reader = opened(engine, where=Where(address="host7:5555"))
    engine.fail = -21
    with pytest.raises(GpuTrouble, match=r"DCGM at host7:5555: .*nv-hostengine"):
        read(reader)
    with pytest.raises(GpuTrouble, match="XIDs are not heard"):
        reader.faults()
    engine.fail = 0
    reader.open()
    assert engine.connected == ["host7:5555"] * 2 and engine.closed == 1


def test_once_tells_what_the_engine_read_first() -> None:
    engine, outlet = FakeEngine(), ListOutlet()
    for gpu in (0, 1):
        engine.sample((1, gpu), 155, T + gpu, 600.0 + gpu)
    reader = DcgmReader(engine.bindings(), EMBEDDED, "n1", watches(5.0, 30.0), now_us=lambda: T)
    names = Names(cluster="default", node="n1", collector="dcgm-engine@h", source="dcgm-engine")
    assert once(reader, outlet, names, 5.0) == 1
    scrape = outlet.of(GPU_SCRAPES)[0]
    assert (scrape.source, scrape.ts_us, scrape.columns) == ("dcgm", T + 1, {"155": [600.0, 601.0]})
    assert [g.pci for g in scrape.gpus] == ["0000:1a:00", "0000:1b:00"]
    assert scrape.labels == {"driver_version": "550.54.15"}
    assert engine.connected == ["embedded"] and engine.closed == 1


def seen(engine: FakeEngine, where: Where = EMBEDDED, runs: bool = False) -> dict[str, str]:
    found = sights(engine.bindings(), where, None, "n1", 5.0, 30.0, runs=lambda: runs)
    return {sight.lacks or sight.sees: sight.advice for sight in found if not sight.ok}


def test_a_check_says_what_an_engine_lacks() -> None:
    engine = FakeEngine(refused={1001}, statuses={1: 7})
    later_us = 2 * time.time_ns() // 1000
    for number in (100, 112, 150, 155, 156, 310):
        engine.sample((1, 0), number, later_us, 1)
    engine.sample((1, 0), 311, later_us, INT64_BLANK + 2)
    engine.sample((1, 0), 66, later_us, 0)
    found = seen(engine)
    assert "uncorrected ECC errors (311)" in found
    assert "the GPU: detached" in found and "the prof fields: Profiling not supported" in found
    assert (
        "nvidia-smi -pm 1" in found["counters that survive an idle hour: they start again when the last program ends"]
    )


def test_a_check_warns_of_a_second_engine() -> None:
    found = seen(FakeEngine(), runs=True)
    assert "give --address localhost:5555" in found.values()


def test_a_check_of_an_engine_that_is_away_says_what_to_look_at() -> None:
    found = seen(FakeEngine(refuse=-21), Where(address="h:5555"))
    assert "systemctl status nvidia-dcgm" in found["Host engine connection invalid/disconnected"]


def test_a_check_of_an_engine_that_hangs_ends() -> None:
    release = Event()

    def hang() -> None:
        release.wait()

    engine = FakeEngine(hold=hang)
    found = sights(engine.bindings(), EMBEDDED, None, "n1", 5.0, 30.0, limit_s=0.1, runs=lambda: False)
    release.set()
    assert [(sight.ok, sight.lacks) for sight in found] == [(False, "the rest: no answer within 0 s")]


@pytest.mark.parametrize(
    ("address", "where", "node"),
    [
        ("h7", Where(address="h7"), "h7"),
        ("h7:5555", Where(address="h7:5555"), "h7"),
        ("[fd00::7]:5555", Where(address="[fd00::7]:5555"), "fd00::7"),
        ("unix:/run/dcgm", Where(socket="/run/dcgm"), None),
        ("localhost:5555", Where(address="localhost:5555"), None),
    ],
)
def test_the_node_is_the_engines_host(address: str, where: Where, node: str | None) -> None:
    assert source._where(address) == where
    found = source._node(argparse.Namespace(address=address, node=None))
    assert found == (this_node() if node is None else node)


@pytest.mark.parametrize("address", ["", ":5555", "h:0", "h:x", "unix:"])
def test_an_address_of_no_known_form_is_a_mistake_that_is_named(address: str) -> None:
    with pytest.raises(SourceError, match=r"--address .*write"):
        source._where(address)


def test_an_engine_that_cannot_be_reached_says_how() -> None:
    engine = FakeEngine(refuse=-21)
    with pytest.raises(GpuTrouble, match="systemctl status nvidia-dcgm"):
        opened(engine, where=Where(socket="/run/dcgm.sock"))


def test_an_engine_without_gpus_is_closed_again() -> None:
    engine = FakeEngine(gpus=0)
    with pytest.raises(GpuTrouble, match="knows no GPU"):
        opened(engine)
    assert engine.closed == 1


def test_bindings_are_loaded_from_the_folder_that_was_named(tmp_path: Path) -> None:
    for name in ("pydcgm", "dcgm_agent", "dcgm_structs", "dcgm_fields"):
        (tmp_path / f"{name}.py").write_text(f"NAME = {name!r}\n")
    found = load_bindings(tmp_path)
    assert (found.pydcgm.NAME, found.fields.NAME) == ("pydcgm", "dcgm_fields")


def test_a_host_without_bindings_says_where_they_were_looked_for(tmp_path: Path) -> None:
    with pytest.raises(GpuTrouble, match="install DCGM"):
        load_bindings(None, (tmp_path,))
    with pytest.raises(GpuTrouble, match=r"--bindings .*no pydcgm\.py"):
        load_bindings(tmp_path)
