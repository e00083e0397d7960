"""The table of sources, and the parser of each, which loads its module only when it is used."""

import argparse
import importlib
from typing import Any, cast

from collectors.settings import collector_settings
from collectors.source import Source

SOURCES: dict[str, tuple[str, str]] = {
    "dcgm": ("collectors.dcgm.source", "GPUs, from the pages of dcgm-exporter"),
    "dcgm-engine": ("collectors.dcgm_engine.source", "GPUs by DCGM in process, or of an nv-hostengine"),
    "nvml": ("collectors.nvml.source", "GPUs of this host by NVML, where no DCGM is"),
    "remote-write": ("collectors.remote_write.source", "GPUs, from a Prometheus or Collector that pushes here"),
    "prometheus": ("collectors.prometheus.source", "history of GPUs, from a Prometheus, VictoriaMetrics or Thanos"),
    "kernel": ("collectors.kernel.source", "XIDs, link flaps and memory faults, from the kernel log"),
    "steps": ("collectors.steps.source", "training steps and job events, from the training client"),
    "training-log": ("collectors.training_log.source", "steps and checkpoints, from what a training framework prints"),
    "nccl-inspector": ("collectors.nccl.source", "collectives, from the files of the NCCL Inspector plug-in"),
    "nccl-ras": ("collectors.nccl_ras.source", "how far each rank of a job is and which are gone, from NCCL's RAS"),
    "flight-recorder": (
        "collectors.flight_recorder.source",
        "which rank did not enter which collective, from PyTorch's flight recorder",
    ),
    "nccl-log": ("collectors.nccl_log.source", "which process and GPU is which rank, from NCCL's log"),
    "nccl-tests": ("collectors.nccl_tests.source", "bandwidth of collectives, from what nccl-tests printed"),
    "gnmi": ("collectors.gnmi.source", "switch ports, over gNMI"),
    "sonic": ("collectors.sonic.source", "switch ports, from SONiC's COUNTERS_DB"),
    "snmp": ("collectors.snmp.source", "switch ports, over SNMP v2c or v3"),
    "infiniband": ("collectors.infiniband.source", "InfiniBand ports: this host's, or the fabric's by its tools"),
    "nic": ("collectors.nic.source", "network interfaces of this host, and which GPUs are by which"),
    "links": ("collectors.links.source", "who is cabled to whom, from a site's own file"),
    "slurm": ("collectors.slurm.source", "which GPUs a job holds and how it ended, from Slurm"),
    "kubernetes": ("collectors.kubernetes.source", "which pods with GPUs belong to which job, from Kubernetes"),
    "nodes": ("collectors.nodes.source", "which nodes are out of service on purpose, and their racks"),
}


def load(name: str) -> Source:
    """The module of one source."""
    return cast(Source, importlib.import_module(SOURCES[name][0]))


def seconds(text: str) -> float:
    """A positive number of seconds, for argparse."""
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number of seconds")
    return value


def _instance(text: str) -> str:
    """It names a folder of the spool too."""
    if not text or text != text.strip() or not text.isprintable() or "/" in text:
        raise argparse.ArgumentTypeError(f"{text!r} cannot be a name: write one word without a slash")
    return text


def add_common(parser: argparse.ArgumentParser) -> None:
    """Options that every source has. A source may declare one of them again with its own meaning."""
    parser.add_argument(
        "--interval",
        type=seconds,
        default=collector_settings().interval_s,
        metavar="SECONDS",
        help="time between two sweeps (default %(default)g)",
    )
    parser.add_argument("--node", help="name of the node where the source does not say it (default: this host)")
    parser.add_argument(
        "--instance",
        type=_instance,
        metavar="NAME",
        help="a name for this one where several of one source run on a host",
    )


def add_process(parser: argparse.ArgumentParser) -> None:
    """Options of the process, wherever they stand on the command line."""
    parser.add_argument(
        "--once", action="store_true", default=argparse.SUPPRESS, help="read once, print envelopes, exit"
    )
    parser.add_argument(
        "--metrics-listen",
        metavar="[HOST:]PORT",
        default=argparse.SUPPRESS,
        help="own /metrics (default 127.0.0.1:9469, or a free port where that is taken; `off` for none)",
    )


class SourceParser(argparse.ArgumentParser):
    """Adds the options of its source when arguments are first parsed, so that an overview imports nothing."""

    def __init__(self, *args: Any, source: str | None, **kwargs: Any) -> None:
        super().__init__(*args, **(kwargs | {"conflict_handler": "resolve", "allow_abbrev": False}))
        self._source = source

    def fill(self) -> None:
        """Load the module and declare its options, once."""
        if self._source is not None:
            name, self._source = self._source, None
            add_common(self)
            load(name).add_arguments(self)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As in argparse."""
        self.fill()
        return super().parse_known_args(args, namespace)


class CommandParser(SourceParser):
    """A source as a sub-command: its options and those of the process."""

    def fill(self) -> None:
        """As in `SourceParser`."""
        if self._source is not None:
            add_process(self)
        super().fill()
