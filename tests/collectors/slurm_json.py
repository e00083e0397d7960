"""Answers of Slurm, made up in the forms of old and new data parsers."""

from typing import Any


def number(value: int, *, new: bool) -> Any:
    """A number as the data parser of that age writes it."""
    return {"set": True, "infinite": False, "number": value} if new else value


def scontrol_job(job: int, state: str, *, new: bool = True, **more: Any) -> dict[str, Any]:
    """One job of `scontrol show job --json`."""
    return {
        "job_id": job,
        "array_job_id": number(0, new=new),
        "array_task_id": {"set": False, "infinite": False, "number": 0} if new else None,
        "name": "pretrain",
        "user_name": "ann",
        "account": "lab",
        "partition": "h100",
        "job_state": [state] if new else state,
        "state_reason": "None",
        "submit_time": number(1_767_347_000, new=new),
        "start_time": number(1_767_348_000, new=new),
        "end_time": number(1_767_400_000, new=new),
        "nodes": "gpu-[005-006]",
        "node_count": number(2, new=new),
        "tres_alloc_str": "cpu=16,mem=128G,node=2,billing=16,gres/gpu=4,gres/gpu:h100=4",
        "gres_detail": ["gpu:h100:2(IDX:0-1)", "gpu:h100:2(IDX:3,7)"],
        "restart_cnt": 0,
        **more,
    }


def sacct_job(job: int, state: str, **more: Any) -> dict[str, Any]:
    """One job of `sacct --json`."""
    return {
        "job_id": job,
        "name": "pretrain",
        "state": {"current": [state], "reason": "None"},
        "time": {"submission": 1_767_347_000, "start": 1_767_348_000, "end": 1_767_351_600, "elapsed": 3600},
        "nodes": "gpu-[005-006]",
        "tres": {
            "allocated": [
                {"type": "cpu", "name": "", "count": 16},
                {"type": "gres", "name": "gpu", "count": 4},
                {"type": "gres", "name": "gpu:h100", "count": 4},
            ]
        },
        "exit_code": {
            "status": ["ERROR"],
            "return_code": {"set": True, "infinite": False, "number": 1},
            "signal": {"id": {"set": False, "infinite": False, "number": 0}, "name": ""},
        },
        **more,
    }


def reply(*jobs: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A whole answer."""
    plugin = {"data_parser": "data_parser/v0.0.40", "type": "openapi/slurmctld"}
    return {"meta": {"plugin": plugin}, "jobs": list(jobs), "errors": [], "warnings": [], **more}
