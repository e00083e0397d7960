"""What is told of the holders of this host's GPUs, what is missing, and what looks stale."""

import argparse
import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from collectors.attribution.boot import SLACK_US, booted_us
from collectors.attribution.job_files import JobFile, JobFileError, jobs_of, read_folder
from collectors.attribution.pod_resources import AnswerError, PodsHolding, read_answer
from collectors.gpu.looking import seen_within
from collectors.gpu.usage import Owner, owner_of, read_cgroup
from collectors.source import Sight, SourceError

LIMIT_S = 8.0
ASK_S = 5.0
LONG_S = 600.0
"""A job that has had a GPU for so long and runs nothing on it may be gone."""
PROC = Path("/proc")
KUBELET = "is the kubelet well (`systemctl status kubelet`)? in a container, mount the socket's folder and run as root"
STALE = "see whether the job runs (`squeue -j JOB`); if not, its epilog failed: remove the file"

Users = Callable[[], Mapping[int, list[Owner]] | None]
"""GPU index -> whose its processes are; None: not told here."""


def nobody_tells() -> None:
    """Of a source that does not know the processes on a GPU."""


def jobs_here(proc: Path = PROC, read: Callable[[int], str] = read_cgroup) -> set[str]:
    """Slurm's jobs that have a process on this node, as far as its processes are seen from here."""
    found: set[str] = set()
    for entry in proc.iterdir():
        if entry.name.isdecimal():
            try:
                job = owner_of(read(int(entry.name))).hpc_job
            except OSError:  # it ended since
                continue
            if job is not None:
                found.add(job)
    return found


def sights(args: argparse.Namespace, users: Users = nobody_tells) -> list[Sight]:
    """Of what the options name; none where they name nothing. Ends by itself."""
    out: list[Sight] = []
    if args.pod_resources is not None:
        out += asyncio.run(_kubelet(args.pod_resources))
    if args.hpc_job_dir is not None:
        folder: Path = args.hpc_job_dir
        why, advice = f"the rest: not read within {LIMIT_S:.0f} s", "is its file server up?"
        out += seen_within(
            LIMIT_S,
            lambda: folder_sights(folder, booted_us(), time.time_ns() // 1000, users, jobs_here),
            lambda: Sight(str(folder), False, "no more", why, advice),
        )
    return out


async def _kubelet(path: str) -> list[Sight]:
    from collectors.attribution.kubelet import list_pods

    try:
        found = read_answer(await asyncio.wait_for(list_pods(path, ASK_S), LIMIT_S))
    except (SourceError, AnswerError) as why:
        return [Sight(path, False, "nothing", str(why), KUBELET)]
    except TimeoutError:
        return [Sight(path, False, "nothing", f"no answer within {LIMIT_S:.0f} s", KUBELET)]
    return list(kubelet_sights(path, found))


def kubelet_sights(path: str, found: PodsHolding) -> Iterator[Sight]:
    """What the kubelet's answer says."""
    pods = {(one.namespace, one.pod) for holders in found.by_device.values() for one in holders}
    yield Sight(path, True, f"{found.pods} pods; {len(found.by_device)} GPUs held by {len(pods)} of them")
    if found.claims:
        yield Sight(
            path,
            False,
            f"{found.claims} containers with resource claims",
            "which GPU they hold, where the claim is for one: claims name no UUID",
            "`--pod-resources` knows device plug-ins only; the processes' `pod_uid` still tells",
        )
    for device, holders in sorted(found.by_device.items()):
        if device not in found.shared and len({(one.namespace, one.pod) for one in holders}) > 1:
            names = ", ".join(f"{one.namespace}/{one.pod}" for one in holders)
            yield Sight(
                device,
                False,
                f"held by {names}",
                "who of them: it is no shared GPU",
                "all but one have ended: kubelets before 1.34 list them until they are deleted (kubernetes#132028)",
            )


def folder_sights(
    folder: Path, boot_us: int, now_us: int, users: Users, jobs: Callable[[], set[str]]
) -> Iterator[Sight]:
    """What the files say, and which of them say it of a job that is likely gone."""
    try:
        found = read_folder(folder)
    except SourceError as why:
        yield Sight(str(folder), False, "nothing", str(why), "name the folder that the prolog writes to")
        return
    told: list[tuple[JobFile, tuple[str, ...]]] = []
    unread = list(found.unread)
    for file in found.files:
        try:
            told.append((file, jobs_of(file.raw)))
        except JobFileError as why:
            unread.append(f"{folder / file.name}: {why}")
    named = {job for _, those in told for job in those}
    yield Sight(
        str(folder),
        not unread,
        f"{len(told)} files, {len(named)} jobs",
        "; ".join(unread[:5]),
        "let the collector read them; they are written by the prolog, a job a line" if unread else "",
    )
    running, busy = jobs(), users()
    for file, those in told:
        if those:
            yield from _stale(folder / file.name, file, those, boot_us, now_us, running, busy)


def _stale(
    path: Path,
    file: JobFile,
    jobs: Iterable[str],
    boot_us: int,
    now_us: int,
    running: set[str],
    busy: Mapping[int, list[Owner]] | None,
) -> Iterator[Sight]:
    shown, held_s = ",".join(jobs), (now_us - file.written_us) / 1e6
    if file.written_us + SLACK_US < boot_us:
        yield Sight(
            str(path), False, f"job {shown}", "a living job: it was written before the boot, and is passed over", STALE
        )
        return
    # Slurm runs a process of each job that uses its control groups; other managers' jobs are seen on the GPU only.
    if running & set(jobs) or held_s < LONG_S:
        return
    here = None if busy is None else busy.get(int(file.name.partition(".")[0]), [])
    others = {owner.hpc_job for owner in here or () if owner.hpc_job is not None}
    if others:
        what = f"agreement: job {', '.join(sorted(others))} runs on this GPU, and is told instead"
        yield Sight(str(path), False, f"job {shown}", what, STALE)
    elif here == [] or (here is None and running):
        what = f"a process of that job after {held_s / 3600:.1f} h: stale, or a job that holds what it does not use"
        yield Sight(str(path), False, f"job {shown}", what, STALE)
