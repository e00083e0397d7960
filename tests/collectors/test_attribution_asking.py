"""Kubelets and folders as they are asked beside a sweep: away, slow, broken, and GPUs that come all the same."""

import argparse
import asyncio
import os
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from collectors.attribution.asking import Asking, JobFolder, Kubelet
from collectors.attribution.job_files import Folder, JobFile, read_folder
from collectors.attribution.kubelet import list_pods
from collectors.attribution.options import SOCKET, add_holders
from collectors.attribution.serving import holders_of
from collectors.contract.gpu import Gpu, GpuScrape
from collectors.contract.topics import GPU_SCRAPES
from collectors.gpu.reading import Part, Reading, Row
from collectors.gpu.serving import once
from collectors.gpu.sweep import nobody
from collectors.gpu.usage import Owner
from collectors.source import SourceError
from tests.collectors.kubelet import Answer, kubelet, never, pod_list
from tests.collectors.list_outlet import ListOutlet
from tests.collectors.test_gpu_sweep import NAMES

BOOT_US = 1_764_500_000_000_000
PODS = pod_list(("ml", "bert-0", {"main": ["GPU-0"]}))


class OneGpu:
    """A reader of two GPUs."""

    source = "nvml"
    target = "nvml"
    keeps_time = False

    def open(self) -> Mapping[str, Part]:
        rows = [Row(gpu=Gpu(uuid=f"GPU-{n}", index=n), values={"155": 1.0}) for n in range(2)]
        return {"gpus": Part(lambda ts_us: Reading(moments={ts_us: rows}))}

    def close(self) -> None:
        """Nothing is held."""

    def faults(self) -> tuple[()]:
        return ()


def answering(raw: bytes) -> Answer:
    async def answer(_: bytes) -> bytes:
        return raw

    return answer


def play(story: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(story(), 30))


def asking(outlet: ListOutlet, path: Path | None = None, folder: JobFolder | None = None, **more: Any) -> Asking:
    asked = None if path is None else Kubelet(str(path), lambda timeout_s: list_pods(str(path), timeout_s))
    return Asking(outlet, NAMES, asked, folder, interval_s=15.0, **more)


def folder_of(*files: JobFile) -> JobFolder:
    return JobFolder("/jobs", lambda: Folder(files), BOOT_US)


def written(name: str, raw: bytes, after_boot_s: float = 100.0) -> JobFile:
    return JobFile(name, raw, BOOT_US + int(after_boot_s * 1e6))


def test_the_kubelet_names_the_pod_of_each_gpu(tmp_path: Path) -> None:
    async def story() -> None:
        outlet = ListOutlet()
        async with kubelet(tmp_path / "k.sock", answering(PODS)) as asked:
            ask = asking(outlet, tmp_path / "k.sock")
            for _ in range(2):
                held = await ask.ask()
        assert (held(Gpu(uuid="GPU-0")).pod, held(Gpu(uuid="GPU-1")).pod, asked) == ("bert-0", None, ["List"] * 2)
        beat = outlet.beats[0]
        assert (beat.ok, beat.target, beat.subject, beat.samples) == (True, str(tmp_path / "k.sock"), "n1", 1)
        assert beat.bytes == len(PODS)

    play(story)


def test_a_kubelet_that_is_not_there_is_one_beat_and_the_gpus_come(tmp_path: Path) -> None:
    outlet = ListOutlet()
    ask = asking(outlet, tmp_path / "none.sock")
    assert once(OneGpu(), outlet, NAMES, 5.0, ask.ask) == 1  # type: ignore[arg-type]
    scrape: GpuScrape = outlet.of(GPU_SCRAPES)[0]
    assert [gpu.pod for gpu in scrape.gpus] == [None, None]
    of_kubelet, of_gpus = outlet.beats
    assert (of_gpus.ok, of_kubelet.ok, "no such socket here" in (of_kubelet.error or "")) == (True, False, True)


def test_a_kubelet_that_says_nothing_costs_its_time_out_and_the_gpus_come(tmp_path: Path) -> None:
    async def story() -> None:
        outlet = ListOutlet()
        async with kubelet(tmp_path / "k.sock", never):
            held = await asking(outlet, tmp_path / "k.sock", timeout_s=0.1).ask()
        assert held(Gpu(uuid="GPU-0")).pod is None
        assert outlet.beats[0].error == "the kubelet has not answered for 0.1 s"

    play(story)


def test_a_socket_that_takes_the_connection_and_speaks_no_grpc_costs_its_time_out(tmp_path: Path) -> None:
    async def story() -> None:
        outlet = ListOutlet()

        async def swallow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()
            writer.close()

        async with await asyncio.start_unix_server(swallow, tmp_path / "k.sock"):
            await asking(outlet, tmp_path / "k.sock", timeout_s=0.1).ask()
        assert outlet.beats[0].ok is False

    play(story)


def test_a_kubelet_that_is_too_old_or_says_too_much_is_told_so(tmp_path: Path) -> None:
    async def story() -> None:
        async with kubelet(tmp_path / "big.sock", answering(b"\n" * (17 << 20))):
            with pytest.raises(SourceError, match="more than 16 MB"):
                await list_pods(str(tmp_path / "big.sock"), 5.0)
        async with kubelet(tmp_path / "k.sock", answering(PODS), "v1alpha1"):
            with pytest.raises(SourceError, match=r"UNIMPLEMENTED.*older than 1\.20"):
                await list_pods(str(tmp_path / "k.sock"), 5.0)
        (tmp_path / "k.sock").touch()
        with pytest.raises(SourceError, match="nobody answers there"):
            await list_pods(str(tmp_path / "k.sock"), 5.0)

    play(story)


def test_bytes_that_are_no_list_are_rejected_and_the_gpus_come(tmp_path: Path) -> None:
    async def story() -> None:
        outlet = ListOutlet()
        async with kubelet(tmp_path / "k.sock", answering(b"\xff\xff\xff")):
            held = await asking(outlet, tmp_path / "k.sock").ask()
        assert held(Gpu(uuid="GPU-0")).pod is None
        assert outlet.rejected[0][:2] == (f"nvml:{tmp_path}/k.sock", b"\xff\xff\xff")
        assert outlet.beats[0].ok is False

    play(story)


def test_files_tell_jobs_and_those_of_before_the_boot_are_passed_over() -> None:
    async def story() -> None:
        outlet = ListOutlet()
        files = (written("0", b"7\n8\n"), written("1", b"6\n", -3600.0), written("2", b"", -3600.0))
        held = await asking(outlet, folder=folder_of(*files)).ask()
        assert [held(Gpu(uuid="G", index=n)).hpc_job for n in range(3)] == ["7,8", None, None]
        assert outlet.beats[0].error == "/jobs/1: written before the boot, passed over"
        assert outlet.beats[0].bytes == len(b"7\n8\n6\n")

    play(story)


def test_a_file_of_garbage_is_rejected_and_the_others_count() -> None:
    async def story() -> None:
        outlet = ListOutlet()
        held = await asking(outlet, folder=folder_of(written("0", b"\xff"), written("1", b"9"))).ask()
        assert held(Gpu(uuid="G", index=1)).hpc_job == "9"
        assert outlet.rejected == [("nvml:/jobs/0", b"\xff", "no text")]
        assert (outlet.beats[0].error, outlet.beats[0].samples) == ("/jobs/0: no text", 1)

    play(story)


def test_a_folder_that_hangs_is_asked_once_and_counted_again_when_it_answers() -> None:
    async def story() -> None:
        outlet, release, reads = ListOutlet(), Event(), []

        def read() -> Folder:
            reads.append(1)
            release.wait()
            return Folder((written("0", b"7"),))

        ask = asking(outlet, folder=JobFolder("/jobs", read, BOOT_US), timeout_s=0.05)
        assert [(await ask.ask())(Gpu(uuid="G", index=0)).hpc_job for _ in range(2)] == [None, None]
        assert (len(reads), [beat.ok for beat in outlet.beats]) == (1, [False, False])
        release.set()
        held = await asking(outlet, folder=JobFolder("/jobs", read, BOOT_US)).ask()
        assert held(Gpu(uuid="G", index=0)).hpc_job == "7"

    play(story)


def test_processes_are_told_for_a_reader_that_does_not_look_at_them() -> None:
    async def story() -> None:
        owned = {("GPU-0", None): [Owner("7", "u")], ("GPU-0", "1"): [Owner("8")]}
        told = [Gpu(uuid="GPU-0", index=0), Gpu(uuid="GPU-0", index=0, mig="1g/1"), Gpu(uuid="GPU-0", hpc_job="9")]
        folder = folder_of(written("0", b"6"))
        held = await Asking(ListOutlet(), NAMES, None, folder, lambda: owned, interval_s=None).ask()
        assert [held(gpu).hpc_job for gpu in told] == ["7", "8", "9"]
        assert held(told[0]).pod_uid == "u"

    play(story)


def test_a_driver_that_hangs_or_fails_costs_the_owners_only() -> None:
    async def story() -> None:
        release = Event()

        def hang() -> Any:
            release.wait()

        ask = Asking(ListOutlet(), NAMES, None, None, hang, interval_s=None, timeout_s=0.05)
        assert (await ask.ask())(Gpu(uuid="GPU-0")).hpc_job is None
        release.set()

        def fail() -> Any:
            raise RuntimeError("nonsense")

        held = await Asking(ListOutlet(), NAMES, None, None, fail, interval_s=None).ask()
        assert held(Gpu(uuid="GPU-0")).hpc_job is None

    play(story)


def test_a_folder_is_read_file_by_file_and_pipes_and_strangers_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "0").write_text("7\n")
    (tmp_path / "3.1").write_text("8")
    (tmp_path / "README").write_text("x")
    (tmp_path / "4").mkdir()
    os.mkfifo(tmp_path / "5")
    (tmp_path / "6").symlink_to(tmp_path / "none")
    found = read_folder(tmp_path)
    assert [(file.name, file.raw) for file in found.files] == [("0", b"7\n"), ("3.1", b"8")]
    assert found.unread == ()
    (tmp_path / "7").symlink_to("7")
    assert ["symbolic links" in why for why in read_folder(tmp_path).unread] == [True]


def test_a_folder_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="does the prolog write there"):
        read_folder(tmp_path / "none")


def options(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_holders(parser)
    return parser.parse_args(words)


def test_nobody_is_asked_unless_an_option_says_so(tmp_path: Path) -> None:
    assert holders_of(options(), ListOutlet(), NAMES, 15.0) is nobody
    assert options("--pod-resources").pod_resources == SOCKET
    (tmp_path / "0").write_text("7\n")
    ask = holders_of(options("--hpc-job-dir", str(tmp_path)), ListOutlet(), NAMES, 15.0)
    held = asyncio.run(ask())
    assert held(Gpu(uuid="G", index=0)).hpc_job == "7"
