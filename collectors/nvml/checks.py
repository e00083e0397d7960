"""What NVML shows of this host, what it lacks, and what to switch on."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from collectors.gpu.looking import seen_within
from collectors.gpu.usage import sees_host_pids
from collectors.nvml.columns import ANSWERS, values_of
from collectors.nvml.device import identify
from collectors.nvml.events import XID
from collectors.nvml.gpm import METRICS, Gpm
from collectors.nvml.interview import Interview, Refusal
from collectors.nvml.library import NO_PERMISSION, Nvml, code_of, text, words
from collectors.nvml.reader import MOST_GPUS, branch_of, said
from collectors.source import Sight

LIMIT_S = 8.0
PCI = Path("/sys/bus/pci/devices")
NVIDIA, GPU_CLASSES = "0x10de", ("0x0300", "0x0302")

NEEDED = {
    "100": "SM clock",
    "112": "throttle reasons",
    "150": "GPU temperature",
    "155": "power",
    "156": "energy",
    "203": "use",
    "310": "corrected ECC errors",
    "311": "uncorrected ECC errors",
}
"""Without these a detector is blind."""


def sights(nvml: Nvml, pci_gpus: Callable[[], int | None] | None = None, limit_s: float = LIMIT_S) -> list[Sight]:
    """Ends by itself: where the driver hangs, what was seen before is told, and that it hangs."""
    why = f"the rest: NVML has not answered for {limit_s:.0f} s"
    advice = "the driver hangs: look for NVRM and hung tasks in `dmesg`; the node needs a reboot"
    return seen_within(
        limit_s,
        lambda: _look(nvml, count_pci_gpus if pci_gpus is None else pci_gpus),
        lambda: Sight("nvml", False, "no more", why, advice),
    )


def count_pci_gpus() -> int | None:
    """NVIDIA GPUs on the PCI bus, whatever the driver says; None: not told here."""
    try:
        devices = list(PCI.iterdir())
        return sum(
            (device / "vendor").read_text().strip() == NVIDIA
            and (device / "class").read_text().strip().startswith(GPU_CLASSES)
            for device in devices
        )
    except OSError:
        return None


def _look(nvml: Nvml, pci_gpus: Callable[[], int | None]) -> Iterator[Sight]:
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as why:
        code = code_of(why)
        yield Sight("nvml", False, "nothing", words(code), said(code).partition("; ")[2] or "see `nvidia-smi`")
        return
    except OSError as why:
        yield Sight("nvml", False, "nothing", str(why), "install the NVIDIA driver")
        return
    try:
        driver, count = text(nvml.nvmlSystemGetDriverVersion()), min(nvml.nvmlDeviceGetCount(), MOST_GPUS)
        on_bus = pci_gpus()
        short = on_bus is not None and on_bus > count
        yield Sight(
            "driver",
            count > 0 and not short,
            f"driver {driver}, {count} GPUs",
            f"{on_bus - count} of the {on_bus} GPUs on the PCI bus" if short and on_bus is not None else "",
            "look for NVRM in `dmesg`: they failed to start, or are kept from this process" if short else "",
        )
        for index in range(count):
            yield from _look_at(nvml, index, branch_of(driver))
        if not sees_host_pids():
            yield Sight(
                "users", False, "GPUs", "jobs and pods of their users", "run in the host's PID namespace (hostPID)"
            )
    except nvml.NVMLError as why:
        yield Sight(
            "nvml", False, "nothing", words(code_of(why)), said(code_of(why)).partition("; ")[2] or "see `nvidia-smi`"
        )
    finally:
        nvml.nvmlShutdown()


def _look_at(nvml: Nvml, index: int, branch: int) -> Iterator[Sight]:
    target = f"GPU {index}"
    try:
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
        gpu = identify(nvml, handle, index)
        asked = Interview(nvml, handle, branch).ask(0.0)
        gpm = Gpm(nvml, handle)
        gpm.read()
        busy, why_not_busy = gpm.read()
        gpm.close()
        heard = _hears_xids(nvml, handle)
    except nvml.NVMLError as why:
        code = code_of(why)
        yield Sight(target, False, "nothing", words(code), said(code).partition("; ")[2] or "reset the GPU or reboot")
        return
    if asked.ended is not None:
        yield Sight(target, False, "nothing", words(asked.ended), "drain the node and reboot it")
        return
    values, errors = values_of(asked)
    read = sum(value is not None for value in values.values()) + sum(v is not None for v in busy.values())
    lacks = [f"{words_} ({name})" for name, words_ in NEEDED.items() if values.get(name) is None]
    asked_fields = {answer.field for answers in ANSWERS.values() for answer in answers}
    unknown = len(asked_fields - values.keys())
    yield Sight(
        target,
        not lacks,
        f"{gpu.model} {gpu.uuid}: {read} fields, {unknown} more that it does not have",
        ", ".join(lacks),
        _advice(values, asked.answers) if lacks else "",
    )
    if errors:
        shown = "; ".join(f"{name}: {why}" for name, why in sorted(errors.items())[:5])
        yield Sight(
            target, False, "most fields", f"{len(errors)} that refuse: {shown}", "run as root; see `nvidia-smi -q`"
        )
    if values.get("66") == 0:
        yield Sight(
            target,
            False,
            "persistence mode off",
            "counters that survive an idle hour: they start again when the last program ends",
            "nvidia-smi -pm 1, or run nvidia-persistenced",
        )
    if values.get("300") == 0:
        yield Sight(target, False, "ECC off", "memory errors", "nvidia-smi -e 1, then reset the GPU")
    if values.get("300") != values.get("301"):
        yield Sight(
            target, False, "ECC mode", "the mode that was asked for", "reset the GPU: a change of mode waits for it"
        )
    if not busy and why_not_busy is not None:
        yield Sight(
            target,
            False,
            "use as percent of time",
            f"how busy its parts are (1001 to 1016): {why_not_busy}",
            "run as root, or load the driver with NVreg_RestrictProfilingToAdminUsers=0",
        )
    elif not busy:
        yield Sight(target, True, f"no {len(METRICS)} GPM metrics: older than Hopper; read DCGM for 1001 to 1016")
    if not heard:
        yield Sight(target, False, "no XID events", "XIDs as they happen", "run the source `kernel` on this node")


def _hears_xids(nvml: Nvml, handle: object) -> bool:
    events = nvml.nvmlEventSetCreate()
    try:
        nvml.nvmlDeviceRegisterEvents(handle, XID, events)
    except nvml.NVMLError:
        return False
    finally:
        nvml.nvmlEventSetFree(events)
    return True


def _advice(values: Mapping[str, float | None], answers: Mapping[str, object]) -> str:
    if any(isinstance(got, Refusal) and got.code == NO_PERMISSION for got in answers.values()):
        return "run the collector as root"
    if values.get("300") == 0:
        return "switch ECC on: nvidia-smi -e 1, then reset the GPU"
    return "this GPU or driver does not tell it; update the driver"
