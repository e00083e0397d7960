"""A session with NVML: the node as messages, XIDs as they are pushed, and what a check says."""

import asyncio
from collections.abc import Sequence
from threading import Event

import pytest

from collectors.contract.gpu import GpuScrape
from collectors.contract.kernel import KernelEvent
from collectors.contract.topics import GPU_SCRAPES, KERNEL_EVENTS
from collectors.gpu.reading import Fault, GpuTrouble
from collectors.gpu.serving import once, serve
from collectors.gpu.sweep import Names
from collectors.gpu.usage import Owners
from collectors.nvml.checks import sights
from collectors.nvml.reader import NvmlReader
from collectors.source import Sight, SourceError
from streams.detectors.xid import XidDetector
from streams.detectors.xid_limits import XidLimits
from tests.collectors.fake_nvml import FakeGpu, FakeNvml, Refuse
from tests.collectors.list_outlet import ListOutlet

NAMES = Names(cluster="default", node="n1", collector="nvml@h", source="nvml")
US = 1_000_000


def reader(nvml: FakeNvml, faults: bool = True) -> NvmlReader:
    return NvmlReader(nvml, "n1", lambda: Owners(ours=lambda: False), with_faults=faults)


def opened(nvml: FakeNvml) -> NvmlReader:
    """A reader whose GPUs have been read once."""
    one = reader(nvml)
    for part in one.open().values():
        part.ask(1)
    return one


def scrape(nvml: FakeNvml) -> GpuScrape:
    outlet = ListOutlet()
    assert once(reader(nvml), outlet, NAMES, 30.0) == 1
    found: list[GpuScrape] = outlet.of(GPU_SCRAPES)
    return found[0]


def test_once_is_one_message_of_all_gpus_with_shares_of_time() -> None:
    nvml = FakeNvml([FakeGpu(index=i, gpm={2: 50.0 + i}) for i in range(3)])
    found = scrape(nvml)
    assert (found.source, found.node, len(found.gpus)) == ("nvml", "n1", 3)
    assert found.columns["1002"] == [0.5, 0.51, 0.52]
    assert found.labels == {"driver_version": "580.65.06"}
    assert found.errors == {}
    assert (nvml.opened, nvml.closed) == (1, 1)


def test_a_field_that_only_some_gpus_have_is_none_for_the_others() -> None:
    older = FakeGpu(index=1, name="Tesla V100-SXM2-32GB")
    older.answers["nvmlDeviceGetRetiredPages", 1] = [1, 2]
    found = scrape(FakeNvml([FakeGpu(), older]))
    assert found.columns["391"] == [None, 2]
    assert "1424" not in found.columns


def test_a_reading_that_fails_on_one_gpu_names_it() -> None:
    sick = FakeGpu(index=1)
    sick.answers["nvmlDeviceGetPowerUsage"] = Refuse(999)
    found = scrape(FakeNvml([FakeGpu(), sick]))
    assert found.columns["155"] == [612.345, None]
    assert found.errors == {"155": f"unknown error ({sick.uuid})"}


def test_a_gpu_without_a_handle_is_a_row_that_says_so() -> None:
    found = scrape(FakeNvml([FakeGpu(), FakeGpu(index=1, handle=Refuse(15))]))
    assert [g.uuid for g in found.gpus] == ["GPU-00000000-0000-0000-0000-000000000000", "n1/gpu1"]
    assert found.columns["155"] == [612.345, None]
    assert "lost" in found.errors["n1/gpu1"]


def test_a_host_without_a_driver_says_what_to_do() -> None:
    nvml = FakeNvml()
    nvml.init = Refuse(9)
    with pytest.raises(SourceError, match=r"the NVIDIA driver is not loaded; load it: `modprobe nvidia`"):
        once(reader(nvml), ListOutlet(), NAMES, 5.0)


def test_a_driver_that_shows_no_gpu_is_no_success() -> None:
    with pytest.raises(SourceError, match="shows no GPU"):
        once(reader(FakeNvml([])), ListOutlet(), NAMES, 5.0)


def heard(nvml: FakeNvml, one: NvmlReader) -> Sequence[Fault]:
    while not (found := one.faults()):
        assert nvml.open_sets == 1
    return found


def test_each_pushed_xid_is_told_with_its_gpu() -> None:
    nvml = FakeNvml([FakeGpu(), FakeGpu(index=1)])
    one = opened(nvml)
    nvml.push(nvml.gpus[1], 62)
    nvml.push(nvml.gpus[1], 45)
    nvml.push(nvml.gpus[0], 31, instance=7, compute=0)
    found = [heard(nvml, one)[0] for _ in range(3)]
    assert [(f.code, f.gpu and f.gpu.index, f.mig) for f in found] == [(62, 1, None), (45, 1, None), (31, 0, "7/0")]
    one.close()
    assert nvml.open_sets == 0


def test_an_event_set_that_breaks_is_made_anew() -> None:
    nvml = FakeNvml()
    one = opened(nvml)
    nvml.pushed.put(Refuse(15))
    with pytest.raises(GpuTrouble, match="XIDs are not heard: the GPU is lost"):
        heard(nvml, one)
    assert nvml.open_sets == 0
    nvml.push(nvml.gpus[0], 79)
    assert heard(nvml, one)[0].code == 79


def test_one_gpu_without_events_leaves_the_others_heard() -> None:
    nvml = FakeNvml([FakeGpu(deaf=True), FakeGpu(index=1)])
    one = opened(nvml)
    nvml.push(nvml.gpus[1], 79)
    assert heard(nvml, one)[0].code == 79


def test_where_no_gpu_has_events_that_is_told() -> None:
    one = opened(FakeNvml([FakeGpu(deaf=True)]))
    with pytest.raises(GpuTrouble, match="it has no such events"):
        one.faults()


def test_a_served_node_sends_scrapes_beats_and_xids_until_it_is_cancelled() -> None:
    async def story() -> None:
        nvml, outlet = FakeNvml(), ListOutlet()
        serving = asyncio.create_task(serve(reader(nvml), outlet, NAMES, timeout_s=5.0, interval_s=0.05))
        while len(outlet.of(GPU_SCRAPES)) < 2:
            await asyncio.sleep(0.01)
        nvml.push(nvml.gpus[0], 79)
        while not outlet.of(KERNEL_EVENTS):
            await asyncio.sleep(0.01)
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        assert all(beat.ok and beat.interval_s == 0.05 for beat in outlet.beats)
        event = outlet.of(KERNEL_EVENTS)[0]
        assert (event.code, event.gpu_uuid, event.pci) == (79, nvml.gpus[0].uuid, "0000:18:00")
        assert (nvml.opened, nvml.closed, nvml.open_sets) == (1, 1, 0)

    asyncio.run(asyncio.wait_for(story(), 30))


@pytest.mark.parametrize("log_first", [True, False])
def test_a_fault_that_the_kernel_log_tells_too_is_one_finding(log_first: bool) -> None:
    uuid, pci = FakeGpu().uuid, "0000:18:00"
    pushed = KernelEvent(node="n1", ts_us=101 * US, kind="xid", code=79, pci=pci, gpu_uuid=uuid, detail="by NVML")
    lost = KernelEvent(node="n1", ts_us=102 * US, kind="gpu_lost", pci=pci, gpu_uuid=uuid)
    logged_us = (100 if log_first else 103) * US
    logged = KernelEvent(node="n1", ts_us=logged_us, kind="xid", code=79, pci=pci, pid=7, raw="NVRM: Xid")
    detector = XidDetector(XidLimits())
    _, findings = detector.step(detector.fresh(), sorted([logged, pushed, lost], key=lambda event: event.ts_us))
    assert [(f.state, f.cause, f.subject.pci) for f in findings] == [("opened", "xid_79", pci)]


def lacks(found: Sequence[Sight]) -> dict[str, str]:
    return {sight.lacks or sight.sees: sight.advice for sight in found if not sight.ok}


def check(nvml: FakeNvml, on_bus: int | None = None) -> list[Sight]:
    return [s for s in sights(nvml, lambda: on_bus) if s.target != "users"]


def test_a_healthy_gpu_checks_well() -> None:
    found = check(FakeNvml([FakeGpu(gpm={2: 1.0})]), on_bus=1)
    assert lacks(found) == {}
    assert found[0].sees == "driver 580.65.06, 1 GPUs"
    assert "NVIDIA H200 GPU-0" in found[1].sees


def test_a_check_says_what_to_switch_on() -> None:
    gpu = FakeGpu(deaf=True)
    gpu.answers["nvmlDeviceGetPersistenceMode"] = 0
    gpu.answers["nvmlDeviceGetEccMode"] = [0, 1]
    del gpu.answers["nvmlDeviceGetTotalEccErrors", 1, 0]
    found = lacks(check(FakeNvml([gpu])))
    assert found["uncorrected ECC errors (311)"] == "switch ECC on: nvidia-smi -e 1, then reset the GPU"
    assert found["memory errors"] == "nvidia-smi -e 1, then reset the GPU"
    assert (
        "nvidia-smi -pm 1" in found["counters that survive an idle hour: they start again when the last program ends"]
    )
    assert "reset the GPU" in found["the mode that was asked for"]
    assert found["XIDs as they happen"] == "run the source `kernel` on this node"


def test_a_check_counts_the_gpus_on_the_bus() -> None:
    assert "1 of the 2 GPUs on the PCI bus" in lacks(check(FakeNvml(), on_bus=2))


def test_a_check_of_a_lost_gpu_goes_on_with_the_others() -> None:
    found = check(FakeNvml([FakeGpu(handle=Refuse(15)), FakeGpu(index=1)]))
    assert [(s.target, s.ok) for s in found][:3] == [("driver", True), ("GPU 0", False), ("GPU 1", True)]


def test_a_check_of_a_driver_that_hangs_ends() -> None:
    release = Event()

    def hang(name: str) -> None:
        release.wait()

    gpu = FakeGpu(hold=hang)
    found = sights(FakeNvml([gpu]), lambda: 1, limit_s=0.5)
    release.set()
    assert [(s.ok, s.lacks) for s in found] == [(True, ""), (False, "the rest: NVML has not answered for 0 s")]


def test_a_check_without_a_driver_is_a_sight() -> None:
    nvml = FakeNvml()
    nvml.init = Refuse(12)
    assert "libnvidia-ml.so.1 is not there" in lacks(check(nvml))
