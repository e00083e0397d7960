"""The options of the sources that read this host's GPUs."""

import argparse
from pathlib import Path

SOCKET = "/var/lib/kubelet/pod-resources/kubelet.sock"
"""The kubelet's, unless its folder was moved."""


def add_holders(parser: argparse.ArgumentParser) -> None:
    """Declare who may tell of the holders."""
    parser.add_argument(
        "--pod-resources",
        nargs="?",
        const=SOCKET,
        metavar="SOCKET",
        help=f"ask the kubelet which pod holds which GPU (default socket {SOCKET})",
    )
    parser.add_argument(
        "--hpc-job-dir",
        type=Path,
        metavar="DIR",
        help="files that a prolog writes, as for dcgm-exporter: `0` for GPU 0, `2.1` for a MIG instance, a job a line",
    )
