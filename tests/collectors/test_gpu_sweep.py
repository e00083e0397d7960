"""Sweeps over GPUs that hang, fall, or come with a new driver."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from threading import Event
from typing import Any

from collectors.contract.gpu import Gpu, GpuScrape
from collectors.contract.kernel import KernelEvent
from collectors.contract.topics import GPU_SCRAPES, KERNEL_EVENTS
from collectors.gpu.faults import Listener
from collectors.gpu.reading import Fault, GpuSource, GpuTrouble, Part, Reading, Row
from collectors.gpu.sweep import LOOK_AGAIN_S, GpuSweep, Names
from tests.collectors.list_outlet import ListOutlet

NAMES = Names(cluster="default", node="n1", collector="nvml@h", source="nvml")


def gpu(index: int) -> Gpu:
    return Gpu(uuid=f"GPU-{index}", index=index, pci=f"0000:1{index}:00")


class FakeReader:
    """Each part is a function of the sweep's time to its row."""

    source: GpuSource = "nvml"
    target = "nvml"

    def __init__(self, parts: Mapping[str, Callable[[int], Row]], keeps_time: bool = False) -> None:
        self.parts = parts
        self.keeps_time = keeps_time
        self.opens = 0
        self.closed = 0
        self.opening: Callable[[], None] = lambda: None
        self.told: list[Sequence[Fault] | GpuTrouble] = []
        self.waits = 0
        self.known: dict[str, Gpu] = {}

    def open(self) -> Mapping[str, Part]:
        self.opens += 1
        self.opening()
        return {
            name: Part(
                lambda ts_us, part=part: Reading(moments={ts_us: [part(ts_us)]}),  # type: ignore[misc]
                lambda name=name: [self.known[name]] if name in self.known else [],  # type: ignore[misc]
            )
            for name, part in self.parts.items()
        }

    def close(self) -> None:
        self.closed += 1

    def faults(self) -> Sequence[Fault]:
        self.waits += 1
        if not self.told:
            Event().wait(0.01)
            return ()
        found = self.told.pop(0)
        if isinstance(found, GpuTrouble):
            raise found
        return found


def good(index: int) -> Callable[[int], Row]:
    return lambda ts_us: Row(gpu=gpu(index), values={"155": 100.0 + index, "156": float(ts_us)})


class Bench:
    """A sweep with its outlet and clocks."""

    def __init__(self, reader: FakeReader, timeout_s: float = 5.0) -> None:
        self.reader = reader
        self.outlet = ListOutlet()
        self.now_us = 1000
        self.clock_s = 0.0
        self.sweep = GpuSweep(
            reader,
            self.outlet,
            NAMES,
            timeout_s=timeout_s,
            interval_s=15.0,
            now_us=lambda: self.now_us,
            clock_s=lambda: self.clock_s,
        )

    async def run(self, step_s: float = 15.0) -> int:
        self.now_us += int(step_s * 1e6)
        self.clock_s += step_s
        return await self.sweep.run()

    @property
    def scrapes(self) -> list[GpuScrape]:
        return self.outlet.of(GPU_SCRAPES)

    @property
    def events(self) -> list[KernelEvent]:
        return self.outlet.of(KERNEL_EVENTS)


def waits(release: Event) -> None:
    release.wait()


def play(story: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(story(), 30))


def test_a_sweep_is_one_message_and_one_beat() -> None:
    async def story() -> None:
        bench = Bench(FakeReader({"gpu0": good(0), "gpu1": good(1)}))
        assert await bench.run() == 1
        assert [g.uuid for g in bench.scrapes[0].gpus] == ["GPU-0", "GPU-1"]
        assert bench.scrapes[0].columns["155"] == [100.0, 101.0] and bench.scrapes[0].ts_us == bench.now_us
        beat = bench.outlet.beats[0]
        assert (beat.ok, beat.messages, beat.samples, beat.subject, beat.error) == (True, 1, 4, "n1", None)

    play(story)


def test_a_gpu_that_hangs_costs_its_own_row_and_a_line_in_the_beat_until_it_answers_again() -> None:
    async def story() -> None:
        release, stuck = Event(), Event()

        def sick(ts_us: int) -> Row:
            if stuck.is_set():
                release.wait()
            return good(1)(ts_us)

        bench = Bench(FakeReader({"gpu0": good(0), "gpu1": sick, "gpu2": good(2)}), timeout_s=0.2)
        await bench.run()
        stuck.set()
        await bench.run()
        await bench.run()
        for scrape in bench.scrapes[1:]:
            assert scrape.columns["155"] == [100.0, None, 102.0]
            assert [g.uuid for g in scrape.gpus] == ["GPU-0", "GPU-1", "GPU-2"]
        assert bench.scrapes[2].errors == {"GPU-1": "no answer for 15 s"}
        assert bench.outlet.beats[2].error == "1 of 3 GPUs not read: GPU 1 (GPU-1): no answer for 15 s"
        assert not bench.outlet.beats[2].ok
        stuck.clear()
        release.set()
        while not bench.outlet.beats[-1].ok:
            await bench.run()
        assert bench.scrapes[-1].columns["155"] == [100.0, 101.0, 102.0] and bench.outlet.beats[-1].ok

    play(story)


def test_a_gpu_that_hung_before_is_not_waited_for_again() -> None:
    async def story() -> None:
        release = Event()

        def sick(ts_us: int) -> Row:
            release.wait()
            return good(1)(ts_us)

        bench = Bench(FakeReader({"gpu0": good(0), "gpu1": sick}), timeout_s=0.1)
        await bench.run()
        bench.sweep._timeout_s = 3600.0
        await bench.run()
        assert bench.outlet.beats[1].error == "gpu1: no answer for 15 s"
        release.set()

    play(story)


def test_an_answer_that_comes_too_late_is_not_told_as_the_next_sweeps() -> None:
    async def story() -> None:
        release, calls = Event(), [0]

        def late(ts_us: int) -> Row:
            calls[0] += 1
            if calls[0] == 2:
                release.wait()
            return Row(gpu=gpu(0), values={"155": float(calls[0])})

        bench = Bench(FakeReader({"gpu0": late}), timeout_s=0.2)
        await bench.run()
        await bench.run()
        release.set()
        while bench.sweep._runs and not all(run.call.done() for run in bench.sweep._runs.values()):
            await asyncio.sleep(0)
        await bench.run()
        assert [scrape.columns.get("155") for scrape in bench.scrapes] == [[1.0], None, [3.0]]

    play(story)


def test_an_answer_of_the_last_sweep_that_comes_during_this_one_makes_no_gpu_lost() -> None:
    async def story() -> None:
        release, answered, sweeps = Event(), Event(), [0]

        def late(ts_us: int) -> Row:
            if not answered.is_set():
                release.wait()
            answered.set()
            return good(1)(ts_us)

        def meanwhile(ts_us: int) -> Row:
            sweeps[0] += 1
            if sweeps[0] == 2:
                release.set()
                answered.wait()
                Event().wait(0.05)
            return good(0)(ts_us)

        bench = Bench(FakeReader({"gpu0": meanwhile, "gpu1": late}), timeout_s=0.2)
        bench.reader.known = {"gpu1": gpu(1)}
        for _ in range(3):
            await bench.run()
        assert bench.events == []
        assert [scrape.columns["155"] for scrape in bench.scrapes] == [[100.0, None]] * 2 + [[100.0, 101.0]]

    play(story)


def test_a_reader_whose_samples_have_their_own_time_loses_none_that_come_late() -> None:
    async def story() -> None:
        release, calls = Event(), [0]

        def late(ts_us: int) -> Row:
            calls[0] += 1
            call = calls[0]
            if call == 1:
                release.wait()
            return Row(gpu=gpu(0), values={"155": float(call)})

        bench = Bench(FakeReader({"engine": late}, keeps_time=True), timeout_s=0.2)
        assert await bench.run() == 0
        assert bench.outlet.beats[0].error == "engine: no answer for 0 s"
        release.set()
        while not all(run.call.done() for run in bench.sweep._runs.values()):
            await asyncio.sleep(0)
        assert await bench.run() == 2
        assert [scrape.columns["155"] for scrape in bench.scrapes] == [[1.0], [2.0]]
        assert bench.scrapes[0].ts_us < bench.scrapes[1].ts_us

    play(story)


def test_a_driver_that_hangs_at_the_start_is_a_beat_each_sweep_and_asked_only_once() -> None:
    async def story() -> None:
        release = Event()
        reader = FakeReader({"gpu0": good(0)})
        reader.opening = lambda: waits(release)
        bench = Bench(reader, timeout_s=0.1)
        await bench.run()
        await bench.run()
        assert [beat.error for beat in bench.outlet.beats] == [
            "nvml does not start: no answer for 0 s",
            "nvml does not start: no answer for 15 s",
        ]
        release.set()
        while not bench.scrapes:
            await bench.run()
        assert reader.opens == 1

    play(story)


def test_a_reader_that_cannot_start_says_why_and_is_tried_again() -> None:
    async def story() -> None:
        reader = FakeReader({"gpu0": good(0)})

        def fail() -> None:
            if reader.opens < 3:
                raise GpuTrouble("the NVIDIA driver is not loaded")

        reader.opening = fail
        bench = Bench(reader)
        for _ in range(3):
            await bench.run()
        assert [beat.error for beat in bench.outlet.beats] == ["the NVIDIA driver is not loaded"] * 2 + [None]

    play(story)


def test_a_gpu_that_answers_nonsense_costs_no_other() -> None:
    async def story() -> None:
        broken = [False]

        def odd(ts_us: int) -> Row:
            if broken[0]:
                raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")
            return good(1)(ts_us)

        bench = Bench(FakeReader({"gpu0": good(0), "gpu1": odd}))
        await bench.run()
        broken[0] = True
        await bench.run()
        assert bench.scrapes[1].columns["155"] == [100.0, None]
        assert bench.outlet.beats[1].error is not None and "UnicodeDecodeError" in bench.outlet.beats[1].error

    play(story)


def test_a_lost_gpu_is_told_once_and_looked_for_again_after_five_minutes() -> None:
    async def story() -> None:
        lost = [False]

        def falls(ts_us: int) -> Row:
            if lost[0]:
                return Row(gpu=gpu(1), trouble="the GPU is lost", lost=True)
            return good(1)(ts_us)

        reader = FakeReader({"gpu0": good(0), "gpu1": falls})
        bench = Bench(reader)
        await bench.run()
        lost[0] = True
        for _ in range(4):
            await bench.run()
        assert [(e.kind, e.gpu_uuid, e.pci, e.detail) for e in bench.events] == [
            ("gpu_lost", "GPU-1", "0000:11:00", "the GPU is lost")
        ]
        assert bench.scrapes[-1].columns["155"] == [100.0, None]
        assert reader.opens == 1
        await bench.run(LOOK_AGAIN_S)
        lost[0] = False
        await bench.run()
        assert reader.opens == 2 and bench.outlet.beats[-1].ok
        lost[0] = True
        await bench.run()
        assert len(bench.events) == 2

    play(story)


def test_a_gpu_that_the_driver_lists_no_more_is_lost_too_and_stays_named_in_the_beat() -> None:
    async def story() -> None:
        reader = FakeReader({"gpu0": good(0), "gpu1": good(1)})
        bench = Bench(reader)
        await bench.run()
        reader.parts = {"gpu0": good(0)}
        bench.sweep._drop_session()
        await bench.run()
        await bench.run()
        assert [(e.kind, e.gpu_uuid, e.detail) for e in bench.events] == [
            ("gpu_lost", "GPU-1", "the driver lists it no more")
        ]
        assert bench.outlet.beats[-1].error == "the driver lists no more: GPU-1"
        assert [g.uuid for g in bench.scrapes[-1].gpus] == ["GPU-0"]

    play(story)


def test_the_driver_is_opened_anew_when_it_was_reloaded() -> None:
    async def story() -> None:
        class Reloading(FakeReader):
            def open(self) -> Mapping[str, Part]:
                super().open()
                first = self.opens == 1
                row = Row(gpu=gpu(0), trouble="unloaded") if first else good(0)(1)
                why = "unloaded" if first else None
                return {"gpu0": Part(lambda ts_us: Reading(moments={ts_us: [row]}, reopen=why))}

        reader = Reloading({})
        bench = Bench(reader)
        await bench.run()
        await bench.run()
        assert reader.opens == 2
        assert [beat.ok for beat in bench.outlet.beats] == [False, True]

    play(story)


def test_faults_are_told_as_they_come_and_trouble_with_hearing_them_is_in_the_beat() -> None:
    async def story() -> None:
        reader = FakeReader({"gpu0": good(0)})
        told: asyncio.Queue[Fault] = asyncio.Queue()
        reader.told = [
            [Fault(ts_us=5, code=79, gpu=gpu(0), detail="d")],
            GpuTrouble("XIDs are not heard: no permission"),
        ]
        listener = Listener(reader, told.put_nowait)
        fault = await told.get()
        bench = Bench(reader)
        bench.sweep._deaf = lambda: listener.trouble
        bench.sweep.tell(fault)
        event = bench.events[0]
        assert (event.kind, event.code, event.gpu_uuid, event.pci, event.ts_us, event.raw) == (
            "xid",
            79,
            "GPU-0",
            "0000:10:00",
            5,
            "",
        )
        while listener.trouble is None:
            await asyncio.sleep(0)
        await bench.run()
        assert bench.outlet.beats[0].error == "XIDs are not heard: no permission"
        listener.stop()

    play(story)
