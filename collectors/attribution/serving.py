"""From the options to who is asked."""

import argparse
from collections.abc import Callable

from collectors.attribution.asking import Asking, JobFolder, Kubelet
from collectors.attribution.boot import booted_us
from collectors.attribution.holders import Processes
from collectors.attribution.job_files import read_folder
from collectors.gpu.sweep import AskHolders, Names, nobody
from collectors.source import Outlet


def holders_of(
    args: argparse.Namespace,
    outlet: Outlet,
    names: Names,
    interval_s: float | None,
    processes: Callable[[], Processes] | None = None,
) -> AskHolders:
    """Asks for the holders beside each sweep. `processes`: for a reader that does not look at them itself."""
    kubelet, folder = None, None
    if args.pod_resources is not None:
        from collectors.attribution.kubelet import list_pods

        path: str = args.pod_resources
        kubelet = Kubelet(path, lambda timeout_s: list_pods(path, timeout_s))
    if args.hpc_job_dir is not None:
        directory = args.hpc_job_dir
        folder = JobFolder(str(directory), lambda: read_folder(directory), booted_us())
    if kubelet is None and folder is None and processes is None:
        return nobody
    return Asking(outlet, names, kubelet, folder, processes, interval_s=interval_s).ask
