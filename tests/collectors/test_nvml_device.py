"""One GPU's answers as rows in DCGM's fields and units."""

from types import SimpleNamespace

import msgspec
import pytest

from collectors.gpu.reading import Row
from collectors.gpu.usage import Owners
from collectors.nvml.columns import values_of
from collectors.nvml.device import Device, identify
from collectors.nvml.interview import AGAIN_S, Asked, Interview
from collectors.nvml.reader import branch_of
from tests.collectors.fake_nvml import GIB, FakeGpu, FakeNvml, Refuse

NOBODY = Owners(ours=lambda: False)


def device(
    gpu: FakeGpu, driver: str = "580.65.06", owners: Owners = NOBODY, clock: list[float] | None = None
) -> Device:
    nvml = FakeNvml([gpu], driver)
    clock_s = clock or [0.0]
    return Device(nvml, gpu, identify(nvml, gpu, gpu.index), driver, branch_of(driver), owners, lambda: clock_s[0])


def row(gpu: FakeGpu, driver: str = "580.65.06") -> Row:
    return device(gpu, driver).read(1).moments[1][0]


def test_a_gpu_says_who_it_is() -> None:
    found = row(FakeGpu(index=2)).gpu
    assert (found.uuid, found.index, found.model, found.pci, found.mig) == (
        "GPU-00000000-0000-0000-0000-000000000002",
        2,
        "NVIDIA H200",
        "0000:1a:00",
        None,
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("155", 612.345),
        ("157", 640.0),
        ("156", 987_654_321_000),
        ("160", 700.0),
        ("161", 200.0),
        ("162", 700.0),
        ("164", 700.0),
        ("150", 61),
        ("140", 55),
        ("153", 26),
        ("158", 87),
        ("100", 1980),
        ("101", 3201),
        ("112", 4),
        ("240", 7_000_000_000),
        ("241", 0),
        ("203", 98),
        ("204", 41),
        ("206", 0),
        ("250", 141 * 1024),
        ("251", 40 * 1024),
        ("252", 100 * 1024),
        ("253", 1024),
        ("254", 100 / 140),
        ("66", 1),
        ("67", 0),
        ("300", 1),
        ("310", 3),
        ("311", 0),
        ("312", 12),
        ("342", 2),
        ("318", 1),
        ("385", 2558),
        ("386", 2),
        ("394", 1),
        ("393", 2),
        ("396", 1),
        ("395", 0),
        ("409", 0),
        ("439", 4),
        ("1501", 9),
        ("1523", 0),
        ("1420", 7_000_000_000),
        ("1422", 11),
    ],
)
def test_an_answer_is_the_dcgm_field_in_its_unit(name: str, value: float) -> None:
    assert row(FakeGpu()).values[name] == pytest.approx(value, abs=0)


def test_what_the_gpu_does_not_have_is_neither_none_nor_an_error() -> None:
    found = row(FakeGpu())
    assert "390" not in found.values and "1424" not in found.values and "1507" not in found.values
    assert found.errors == {} and found.trouble is None


@pytest.mark.parametrize(
    ("code", "why"),
    [(4, "no permission"), (999, "unknown error"), (10, "NVML timed out"), (77, "NVML error 77")],
)
def test_a_reading_that_fails_is_none_with_its_reason_and_costs_no_other(code: int, why: str) -> None:
    gpu = FakeGpu()
    gpu.answers["nvmlDeviceGetPowerUsage"] = Refuse(code)
    found = row(gpu)
    assert found.values["155"] is None and found.errors == {"155": why}
    assert found.values["150"] == 61


def test_a_question_of_two_fields_fails_for_both() -> None:
    gpu = FakeGpu()
    gpu.answers["nvmlDeviceGetUtilizationRates"] = Refuse(999)
    found = row(gpu)
    assert (found.values["203"], found.values["204"]) == (None, None)
    assert found.errors == {"203": "unknown error", "204": "unknown error"}


def test_one_refused_field_value_leaves_the_others() -> None:
    gpu = FakeGpu()
    gpu.fields[82] = Refuse(4)
    found = row(gpu)
    assert found.values["140"] is None and found.errors == {"140": "no permission"}
    assert found.values["157"] == 640.0


def test_a_lost_gpu_is_a_row_without_values_and_the_rest_is_not_asked() -> None:
    gpu = FakeGpu()
    gpu.answers["nvmlDeviceGetPowerUsage"] = Refuse(15)
    one = device(gpu)
    found = one.read(1).moments[1][0]
    assert found.lost and found.values == {} and found.trouble is not None and "lost" in found.trouble
    assert found.gpu.uuid == gpu.uuid
    assert one.nvml.asked == ["nvmlDeviceGetTotalEnergyConsumption", "nvmlDeviceGetPowerUsage"]  # type: ignore[attr-defined]


def test_a_gpu_that_needs_a_reset_says_so_in_the_field_for_it() -> None:
    gpu = FakeGpu()
    gpu.answers["nvmlDeviceGetClockInfo", 1] = Refuse(16)
    gpu.fields[230] = Refuse(16)
    found = row(gpu)
    assert found.values["1523"] == 1.0 and found.values["100"] is None and found.values["150"] == 61
    assert found.trouble == "the GPU needs a reset before it can be used"
    assert "1523" not in found.errors and found.errors["100"] == found.trouble


@pytest.mark.parametrize("code", [1, 9, 18])
def test_a_driver_that_went_asks_for_a_new_session(code: int) -> None:
    gpu = FakeGpu()
    gpu.answers["nvmlDeviceGetTotalEnergyConsumption"] = Refuse(code)
    reading = device(gpu).read(1)
    assert reading.reopen is not None
    assert not reading.moments[1][0].lost


@pytest.mark.parametrize("name", ["nvmlDeviceGetTemperature"])
def test_a_temperature_that_cannot_be_is_none(name: str) -> None:
    gpu = FakeGpu()
    gpu.answers[name] = 65535
    found = row(gpu)
    assert found.values["150"] is None and found.errors == {"150": "no such reading: 65535"}


def test_throttle_times_are_not_asked_by_ids_that_an_older_driver_gives_to_something_else() -> None:
    gpu = FakeGpu()
    gpu.fields[251] = (3, 999)
    found = row(gpu, driver="570.124.06")
    assert "1422" not in found.values and found.values["1420"] == 7_000_000_000


def test_an_older_driver_is_asked_by_the_older_names() -> None:
    gpu = FakeGpu()
    del gpu.answers["nvmlDeviceGetCurrentClocksEventReasons"]
    gpu.answers["nvmlDeviceGetCurrentClocksThrottleReasons"] = 0x20
    gpu.answers["nvmlDeviceGetMemoryInfo", 0x02000028] = Refuse(13)
    gpu.answers["nvmlDeviceGetMemoryInfo",] = SimpleNamespace(total=80 * GIB, free=70 * GIB, used=10 * GIB)
    found = row(gpu, driver="470.1")
    assert found.values["112"] == 0x20
    assert (found.values["250"], found.values["252"]) == (80 * 1024, 10 * 1024)
    assert "253" not in found.values and "254" not in found.values


def test_what_is_not_supported_is_asked_again_only_after_ten_minutes() -> None:
    gpu, clock = FakeGpu(), [0.0]
    one = device(gpu, clock=clock)
    one.read(1)
    asked = one.nvml.asked  # type: ignore[attr-defined]
    count = asked.count("nvmlDeviceGetRetiredPages")
    one.read(2)
    assert asked.count("nvmlDeviceGetRetiredPages") == count == 2
    clock[0] = AGAIN_S
    gpu.answers["nvmlDeviceGetRetiredPages", 0] = [1, 2, 3]
    assert one.read(3).moments[3][0].values["390"] == 3


def test_nvlink_5_counts_are_summed_over_the_links_that_count() -> None:
    gpu = FakeGpu()
    gpu.links = {(214, 0): 1, (214, 2): 4, (201, 0): 10, (201, 2): 20}
    found = row(gpu)
    assert (found.values["1212"], found.values["1200"]) == (5, 30)
    assert "1219" not in found.values


def test_shares_of_time_come_with_the_second_reading() -> None:
    gpu = FakeGpu(gpm={1: 99.0, 2: 90.0, 5: 55.5, 10: float("nan"), 20: 2.0, 60: 3.0})
    one = device(gpu)
    assert "1001" not in one.read(1).moments[1][0].values
    values = one.read(2).moments[2][0].values
    assert (values["1001"], values["1002"], values["1004"]) == pytest.approx((0.99, 0.9, 0.555))
    assert values["1005"] is None
    assert (values["1009"], values["1012"]) == (2 * 1048576, 3 * 1048576)
    assert "1006" not in values


def test_each_mig_instance_is_a_row_of_its_gpu_with_its_own_memory_and_users() -> None:
    def instance(gi: int, ci: int, gib: int, pid: int) -> FakeGpu:
        memory = SimpleNamespace(total=gib * GIB, reserved=0, free=0, used=gib * GIB)
        return FakeGpu(
            name="NVIDIA H200 MIG 1g.18gb",
            uuid=f"MIG-{gi}-{ci}",
            answers={("nvmlDeviceGetMemoryInfo", 0x02000028): memory},
            instance_ids=(gi, ci),
            gpm={2: 50.0, 20: 1.0},
            pids=[pid],
        )

    gpu = FakeGpu(instances=[instance(7, 0, 16, 10), instance(8, 0, 18, 11), instance(8, 1, 18, 12)], gpm={2: 10.0})
    gpu.answers["nvmlDeviceGetMigMode"] = [1, 1]
    owners = Owners(lambda pid: f"0::/system.slice/slurmstepd.scope/job_{pid}/step_0\n", ours=lambda: True)
    one = device(gpu, owners=owners)
    one.read(1)
    rows = one.read(2).moments[2]
    assert [r.gpu.mig for r in rows] == [None, "1g.18gb/7", "1g.18gb/8", "1g.18gb/8/1"]
    assert {r.gpu.uuid for r in rows} == {gpu.uuid}
    assert [r.gpu.mig_uuid for r in rows] == [None, "MIG-7-0", "MIG-8-0", "MIG-8-1"]
    assert [r.values["252"] for r in rows[1:]] == [16 * 1024, 18 * 1024, 18 * 1024]
    assert [r.gpu.hpc_job for r in rows] == [None, "10", "11", "12"]
    assert rows[1].values["1002"] == 0.5 and "1009" not in rows[1].values and "155" not in rows[1].values


def test_an_instance_that_was_destroyed_is_no_row_any_more() -> None:
    gpu = FakeGpu(instances=[FakeGpu(name="X MIG 1g.18gb", instance_ids=(7, 0), answers={}, gpm={2: 1.0})])
    gpu.answers["nvmlDeviceGetMigMode"] = [1, 1]
    one = device(gpu)
    assert len(one.read(1).moments[1]) == 2
    gpu.instances.clear()
    assert len(one.read(2).moments[2]) == 1


def test_recorded_answers_give_the_same_values_as_the_gpu_did() -> None:
    gpu = FakeGpu()
    gpu.answers["nvmlDeviceGetPowerUsage"] = Refuse(4)
    asked = Interview(FakeNvml([gpu]), gpu, 580).ask(0.0)
    recorded = msgspec.json.decode(msgspec.json.encode(asked), type=Asked)
    assert values_of(recorded) == values_of(asked)
    assert len(values_of(recorded)[0]) > 40


def test_answers_of_a_question_that_is_not_asked_any_more_are_passed_over() -> None:
    assert values_of(Asked({"nvmlDeviceGetSomethingOld": [1.0], "field 9999": [2.0]})) == ({}, {})
