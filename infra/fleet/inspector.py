"""Records of the NCCL Inspector plug-in for the gradient all-reduce of a step."""

import json

from collectors.contract.job import CollectiveWindow
from infra.fleet.job import ALGBW_GBS, Job
from infra.fleet.rank import Member, pid
from infra.fleet.step import Step

COLLECTIVE = "AllReduce"


def timing(job: Job, step: Step, row: int) -> tuple[int, int, float, float]:
    """Bytes, microseconds, algorithm and bus bandwidth (decimal GB/s) of one rank's all-reduce.

    The kernel starts when this rank arrives and ends for all together, so its time is transfer plus wait:
    the last to arrive shows the shortest. AllReduce: busbw = algbw x 2 (n - 1) / n (nccl-tests).
    """
    size = int(job.nominal_s * 0.1 * ALGBW_GBS * 1e9)
    exec_us = max(1, round(step.reduce_s[row] * 1e6))
    algbw = size / exec_us / 1e3
    return size, exec_us, round(algbw, 6), round(algbw * 2 * (job.replicas - 1) / job.replicas, 6)


def window(job: Job, step: Step, row: int, cluster: str) -> CollectiveWindow:
    """One rank's all-reduce of a step, as the collector reads it out of the process's file."""
    member = step.members[row]
    size, exec_us, algbw, busbw = timing(job, step, row)
    comm, nodes = job.groups[member.pp, member.tp]
    return CollectiveWindow(
        cluster=cluster,
        ts_us=step.end_us,
        job=step.job,
        node=member.slot.node,
        comm=comm,
        comm_size=job.replicas,
        comm_nodes=nodes,
        comm_name="dp",
        pid=pid(job.plan.name, job.attempt, member.rank),
        rank=[member.dp],
        seq=[step.number],
        coll=[COLLECTIVE],
        bytes=[size],
        exec_us=[float(exec_us)],
        algbw_gbs=[algbw],
        busbw_gbs=[busbw],
        timing=["kernel_gpu"],
    )


def file_name(job: Job, member: Member) -> str:
    """As the plug-in names a process's file."""
    return f"{member.slot.node}-pid{pid(job.plan.name, job.attempt, member.rank)}.log"


def record(job: Job, step: Step, row: int) -> str:
    """One line of that file, without its newline."""
    member = step.members[row]
    size, exec_us, algbw, busbw = timing(job, step, row)
    _, nodes = job.groups[member.pp, member.tp]
    return json.dumps(
        {
            "header": {
                "id": f"0x{job.communicator(member).lstrip('0')}",
                "comm_name": "dp",
                "rank": member.dp,
                "n_ranks": job.replicas,
                "nnodes": nodes,
            },
            "metadata": {
                "inspector_output_format_version": "v4.0",
                "git_rev": "",
                "rec_mechanism": "nccl_profiler_interface",
                "dump_timestamp_us": step.end_us,
                "hostname": member.slot.node,
                "pid": pid(job.plan.name, job.attempt, member.rank),
            },
            "coll_perf": {
                "coll": COLLECTIVE,
                "coll_sn": step.number,
                "coll_msg_size_bytes": size,
                "coll_exec_time_us": exec_us,
                "coll_timing_source": "kernel_gpu",
                "coll_algobw_gbs": algbw,
                "coll_busbw_gbs": busbw,
            },
        },
        separators=(",", ":"),
    )
