"""Dumps of a job of four ranks whose rank 2 did not enter the seventh all-reduce, as PyTorch would write them."""

import json
import pickle
from typing import Any

T_NS = 1_700_000_000_000_000_000
GROUPS = {
    "0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2, 3]"},
    "7": {"name": "7", "desc": "TP Group", "ranks": "[2, 3]"},
}
FRAME = {"name": "train_step", "filename": "train.py", "line": 42}


def entry(seq: int, state: str = "completed", **changes: Any) -> dict[str, Any]:
    """One all-reduce of 1024 bfloat16."""
    reached = ("scheduled", "started", "completed").index(state)
    at = T_NS + seq * 1_000_000_000
    whole: dict[str, Any] = {
        "frames": [FRAME, FRAME],
        "record_id": seq,
        "pg_id": 0,
        "process_group": ("0", "default_pg"),
        "thread_name": "pt_main",
        "thread_id": "139",
        "collective_seq_id": seq,
        "p2p_seq_id": 0,
        "op_id": seq,
        "profiling_name": "nccl:all_reduce",
        "time_created_ns": at,
        "input_sizes": [[4, 256]],
        "input_dtypes": ["BFloat16"],
        "output_sizes": [[4, 256]],
        "output_dtypes": ["BFloat16"],
        "state": state,
        "time_discovered_started_ns": at + 1_000_000 if reached > 0 else None,
        "time_discovered_completed_ns": at + 3_000_000 if reached > 1 else None,
        "retired": reached > 1,
        "timeout_ms": 600_000,
        "is_p2p": False,
    }
    return whole | changes


def dump(rank: int, **changes: Any) -> dict[str, Any]:
    """What one rank remembers."""
    last = 6 if rank == 2 else 7
    entries = [entry(seq) for seq in range(1, 7)] + ([] if rank == 2 else [entry(7, "started")])
    if rank == 3:
        sent = {"process_group": ("7", "TP Group"), "pg_id": 1, "is_p2p": True, "p2p_seq_id": 1, "collective_seq_id": 0}
        entries.append(entry(8, "scheduled", profiling_name="nccl:send 1->0", **sent))
    whole = {
        "version": "2.9",
        "comm_lib_version": "2.28.7",
        "pg_config": {name: group for name, group in GROUPS.items() if str(rank) in group["ranks"]},
        "pg_status": {
            "0": {
                "last_enqueued_collective": last,
                "last_started_collective": last,
                "last_completed_collective": 6,
            },
            "1": dict.fromkeys(
                ("last_enqueued_collective", "last_started_collective", "last_completed_collective"), -1
            ),
        },
        "entries": entries,
        "nccl_comm_state": {},
    }
    return whole | changes


def pickled(rank: int, protocol: int = 2, **changes: Any) -> bytes:
    """As PyTorch writes it: protocol 2, plain containers."""
    return pickle.dumps(dump(rank, **changes), protocol=protocol)


def as_json(rank: int, **changes: Any) -> bytes:
    """The JSON form: numbers of pg_status as text, 0 for a time that has not come."""
    whole = dump(rank, **changes)
    whole["pg_status"] = {
        pg: {name: str(value) for name, value in told.items()} for pg, told in whole["pg_status"].items()
    }
    for one in whole["entries"]:
        for name in ("time_discovered_started_ns", "time_discovered_completed_ns"):
            one[name] = one[name] or 0
        del one["frames"]
    return json.dumps(whole).encode()
