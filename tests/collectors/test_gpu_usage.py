"""Whose a process on a GPU is."""

import os

import pytest

from collectors.contract.gpu import Gpu
from collectors.gpu.usage import Owner, Owners, owner_of, read_cgroup, used_by

UID = "0f5d3c6e-1b2a-4c3d-8e9f-a0b1c2d3e4f5"


@pytest.mark.parametrize(
    ("line", "job"),
    [
        ("9:memory:/slurm/uid_1000/job_4711/step_0/task_0", "4711"),
        ("0::/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0", "4711"),
        ("0::/system.slice/node7_slurmstepd.scope/job_4711/step_batch/slurm", "4711"),
        ("5:devices:/slurm_node7/uid_0/job_4711/step_extern", "4711"),
        ("0::/user.slice/user-1000.slice/session-3.scope", None),
        ("0::/system.slice/slurmstepd.scope/system", None),
        ("0::/system.slice/jenkins/job_4711/run", None),
    ],
)
def test_a_slurm_job_is_known_by_its_control_group(line: str, job: str | None) -> None:
    assert owner_of(line + "\n").hpc_job == job


@pytest.mark.parametrize(
    "line",
    [
        f"0::/kubepods.slice/kubepods-pod{UID.replace('-', '_')}.slice/cri-containerd-{'a' * 64}.scope",
        f"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{UID.replace('-', '_')}.slice/crio-x.scope",
        f"4:cpu:/kubepods/besteffort/pod{UID}/{'b' * 64}",
        f"0::/kubelet/kubepods/burstable/pod{UID}/{'b' * 64}",
    ],
)
def test_a_pod_is_known_by_its_uid(line: str) -> None:
    assert owner_of(line + "\n") == Owner(pod_uid=UID)


def test_a_line_that_was_cut_off_names_no_shorter_job() -> None:
    assert owner_of("0::/system.slice/slurmstepd.scope/job_47") == Owner()


def test_several_users_of_a_gpu_stand_side_by_side_once_each() -> None:
    groups = {1: "job_5", 2: "job_5", 3: "job_9"}
    owners = Owners(lambda pid: f"0::/slurm/uid_0/{groups[pid]}/step_0\n", ours=lambda: True)
    assert used_by(Gpu(uuid="G"), owners.of([3, 1, 2])).hpc_job == "5,9"


def test_a_process_that_ended_meanwhile_is_no_user() -> None:
    def read(pid: int) -> str:
        raise ProcessLookupError(pid)

    assert Owners(read, ours=lambda: True).of([1]) == []


def test_where_pids_are_not_those_of_the_host_nobody_is_named() -> None:
    owners = Owners(lambda pid: "0::/slurm/uid_0/job_5/step_0\n", ours=lambda: False)
    assert owners.of([1]) == []


def test_the_control_group_of_a_living_process_is_read() -> None:
    assert read_cgroup(os.getpid()).count(":") >= 2
