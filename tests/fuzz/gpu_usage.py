"""The control group of a process, from which the job on a GPU is told."""

from collections.abc import Hashable, Mapping

from collectors.gpu.usage import Owner, owner_of
from tests.fuzz.parser import Parser

UID = b"0f5d3c6e_1b2a_4c3d_8e9f_a0b1c2d3e4f5"


def _parse(raw: bytes) -> Owner:
    return owner_of(raw.decode("utf-8", "replace"))


def _numbers(found: Owner) -> Mapping[Hashable, float | None]:
    return {} if found.hpc_job is None else {"job": float(found.hpc_job)}


PARSERS = (
    Parser(
        "cgroup-slurm",
        (
            b"0::/system.slice/slurmstepd.scope/job_471108/step_0/user/task_0\n",
            b"11:memory:/slurm/uid_1000/job_471108/step_batch\n1:name=systemd:/system.slice/slurmd.service\n",
        ),
        _parse,
        _numbers,
    ),
    Parser(
        "cgroup-kubernetes",
        (
            b"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod"
            + UID
            + b".slice/cri-containerd-ab.scope\n",
        ),
        _parse,
    ),
)
