"""From the options to who is asked."""

import argparse

from collectors.attribution.asking import Asking, JobFolder, Kubelet
from collectors.attribution.boot import booted_us
from collectors.attribution.job_files import read_folder
from collectors.gpu.sweep import AskHolders, Names, nobody
from collectors.source import Outlet


def holders_of(args: argparse.Namespace, outlet: Outlet, names: Names, interval_s: float | None) -> AskHolders:
    """Asks for the holders beside each sweep; where neither option was given, nobody is asked."""
    kubelet, folder = None, None
    if args.pod_resources is not None:
        from collectors.attribution.kubelet import list_pods

        path: str = args.pod_resources
        kubelet = Kubelet(path, lambda timeout_s: list_pods(path, timeout_s))
    if args.hpc_job_dir is not None:
        directory = args.hpc_job_dir
        folder = JobFolder(str(directory), lambda: read_folder(directory), booted_us())
    if kubelet is None and folder is None:
        return nobody
    return Asking(outlet, names, kubelet, folder, interval_s=interval_s).ask
