"""Uptime, requests of a sweep, and the tables of objects and presets."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.fabric.series import Site
from collectors.snmp import oid
from collectors.snmp.layout import Layout, Wanted, columns_to_learn, learn
from collectors.snmp.objects import IndexSyntax, objects, read_index
from collectors.snmp.plan import plan
from collectors.snmp.presets import presets
from collectors.snmp.tables import gathered
from collectors.snmp.uptime import WRAP, Uptime
from collectors.snmp.value import Varbind
from collectors.source import SourceError

WALL = 1_700_000_000_000_000
DAY = 8_640_000


@pytest.mark.parametrize(
    ("last", "passed_s", "now", "anew"),
    [
        (DAY, 15, DAY + 1500, False),
        (DAY, 15, DAY + 1200, False),
        (DAY, 15, DAY, False),
        (DAY, 15, DAY - 1, True),
        (DAY, 15, 300, True),
        # Away for two hours, and back for fifty minutes.
        (100_000, 7200, 300_000, True),
        (100_000, 7200, 820_000, False),
        (WRAP - 500, 15, 1000, False),
        (WRAP - 500, 15, 900_000, True),
        (WRAP // 2, 15, 1000, True),
    ],
)
def test_an_agent_that_is_too_young_began_anew(last: int, passed_s: int, now: int, anew: bool) -> None:
    uptime = Uptime()
    assert uptime.hear(last, 0.0, WALL) is False
    before = uptime.epoch
    assert uptime.hear(now, float(passed_s), WALL + passed_s * 1_000_000) is anew
    assert (uptime.epoch != before) is anew


def test_an_epoch_is_the_same_after_a_restart_of_ours_and_another_within_one_minute() -> None:
    one, other = Uptime(), Uptime()
    one.hear(DAY, 0.0, WALL)
    other.hear(DAY + 1234, 99.0, WALL + 12_340_000)
    assert one.epoch == other.epoch
    quick = Uptime()
    quick.hear(100, 0.0, WALL)
    first = quick.epoch
    assert quick.hear(50, 2.0, WALL + 2_000_000)
    assert quick.epoch != first


def layout(rows: int, wanted: set[int], columns: int = 3) -> Layout:
    from collectors.fabric.grid import Grid

    out = Layout(Grid(site=Site()), {})
    names = tuple(oid.encode(f"1.3.6.1.4.1.9.{n}") for n in range(1, columns + 1))
    tails = tuple(oid.tail((n,)) for n in range(rows))
    out.wanted = [Wanted(names, tails)]
    out.names = {column + tails[n]: b"" for column in names for n in wanted}
    return out


@given(st.integers(1, 60), st.data(), st.integers(8, 100))
def test_every_instance_is_asked_for_once_and_no_request_is_too_large(
    rows: int, data: st.DataObject, varbinds: int
) -> None:
    wanted = data.draw(st.sets(st.integers(0, rows - 1)))
    held = layout(rows, wanted)
    asked = plan(held, varbinds, slow=False)
    names = [name for one in asked for name in one.names]
    assert sorted(names) == sorted(held.names)
    assert all(one.count <= max(varbinds, 3) for one in asked)


def test_rows_of_no_port_are_read_over_only_when_they_are_few() -> None:
    assert [one.count for one in plan(layout(30, {1, 4}, 1), 100, slow=False)] == [4]
    assert [one.count for one in plan(layout(30, {1, 5}, 1), 100, slow=False)] == [1, 1]


def test_an_index_names_port_and_queue() -> None:
    queue = objects()["CISCO-SWITCH-QOS-MIB::csqIfQosGroupStatsValue/ucast-drop-pkts"]
    assert queue.place((7, 2, 4, 5)) == (7, "3")
    assert queue.place((7, 1, 4, 5)) is None and queue.place((7, 2, 4, 6)) is None and queue.place((7,)) is None
    pause = objects()["CUMULUS-COUNTERS-MIB::clIntInPfc3Pkt"]
    assert pause.place((7,)) == (7, "3")


@pytest.mark.parametrize("text", ["", "n", "if.if", "if.x", "if.=a"])
def test_an_index_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(IndexSyntax):
        read_index(text)


def test_every_object_stands_in_the_counter_table_and_has_an_oid_of_its_own() -> None:
    found = objects()
    assert [name for name, thing in found.items() if thing.counter is None or thing.counter.ignored] == []
    keys = [(thing.oid, thing.index) for thing in found.values()]
    assert len(keys) == len(set(keys))


def test_two_names_alike_are_told_apart_by_their_number() -> None:
    preset = presets(None)["standard"]
    rows = [(1, b"port"), (2, b"port"), (3, b"")]
    varbinds = [Varbind(oid.encode(f"1.3.6.1.2.1.31.1.1.1.1.{n}"), name) for n, name in rows]
    varbinds += [Varbind(oid.encode(f"1.3.6.1.2.1.2.2.1.3.{n}"), 6) for n, _ in rows]
    varbinds += [Varbind(oid.encode("1.3.6.1.2.1.2.2.1.2.3"), b"by description")]
    varbinds += [Varbind(oid.encode(f"1.3.6.1.2.1.2.2.1.13.{n}"), n) for n, _ in rows]
    found = learn(gathered(varbinds, columns_to_learn(preset)), preset, site=Site(), interval_us=0)
    assert found.ports == {1: "port#1", 2: "port#2", 3: "by description"}


OWN = """
[objects]
"ACME-MIB::drops" = { oid = "1.3.6.1.4.1.99999.1.2", index = "if.n-1", counter = "queue_drop_packets", bits = 32 }
"ACME-MIB::odd" = { oid = "1.3.6.1.4.1.99999.1.3" }

[acme]
read = ["IF-MIB::ifInDiscards", "ACME-MIB"]
sensors = false
neighbours = false
every = 30
refresh = 5
types = [6, 161]
"""


def test_a_site_adds_objects_and_presets_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(OWN)
    found = presets(path)
    acme = found["acme"]
    assert [thing.name for thing in acme.read] == ["IF-MIB::ifInDiscards", "ACME-MIB::drops", "ACME-MIB::odd"]
    assert acme.read[1].counter is not None and acme.read[1].counter.bits == 32
    assert (acme.sensors, acme.neighbours, acme.every_s, acme.refresh_s) == (False, False, 30.0, 5.0)
    assert acme.types == {6, 161}
    assert {"standard", "mellanox", "cumulus", "sonic"} <= found.keys()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[a]\n", "read ="),
        ('[a]\nread = ["NO-MIB"]\n', "NO-MIB.*IF-MIB"),
        ('[a]\nread = ["IF-MIB"]\nevery = -1\n', "every"),
        ('[a]\nread = ["IF-MIB"]\nspeed = 1\n', "no such key 'speed'"),
        ('[a]\nread = ["IF-MIB"]\nsensors = 1\n', "sensors"),
        ('[a]\nread = ["IF-MIB"]\ntypes = "all"\n', "types"),
        ('[objects]\n"A::b" = { oid = "one" }\n', "of the form"),
        ('[objects]\n"A::b" = { oid = "1.3.6", index = "port" }\n', "index 'port'"),
        ('[objects]\n"A::b" = { oid = "1.3.6", counter = "drops" }\n', "canonical"),
        ('[objects]\n"A::b" = { oid = "1.3.6", counter = "queue_drop_packets", bits = 12 }\n', "bits"),
        ("objects = 1\n", "objects"),
        ("[a\n", "not TOML"),
    ],
)
def test_a_preset_that_cannot_be_used_names_file_and_key(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "own.toml"
    path.write_text(text)
    with pytest.raises(SourceError, match=why) as told:
        presets(path)
    assert "own.toml" in str(told.value)
