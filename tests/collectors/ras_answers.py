"""Answers of RAS, made up in the forms that NCCL 2.24, 2.26 and 2.28 print."""

import json
from typing import Any

HEAD = """\
NCCL version 2.26.2 compiled with CUDA 12.8
CUDA runtime version 12080, driver version 12080

Job summary
===========

  Nodes  Processes         GPUs  Processes     GPUs
(total)   per node  per process    (total)  (total)
      2          4            1          8        8

Communicators... (0.02s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
"""

AGREED = (
    HEAD
    + """\
    0         3         2         4         8         8   RUNNING      OK

Errors
======

Warnings
========

"""
)

LATE = (
    HEAD
    + """\
    0         1         2         4         8         8   RUNNING  MISMATCH
    1         2         1         4         4         8   RUNNING      OK

Errors
======

Warnings
========

#0-0 (1e240000000abc) MISMATCH
  Communicator ranks have different AllReduce operation counts
  6 ranks have launched up to operation 6650
  Rank 2 has launched up to operation 6649 -- GPU 2 managed by process 412 on node 10.0.0.1
  Rank 7 has not launched any operations -- GPU 1 (NVML 3) managed by process 517 on node 10.0.0.2

  Communicator ranks have different Broadcast operation counts
  5 ranks have launched up to operation 9
  3 ranks have launched up to operation 8
  Rank 0 -- GPU 0 managed by process 410 on node 10.0.0.1
  Rank 1 -- GPU 1 managed by process 411 on node 10.0.0.1
  Rank 5 -- [process information not found]

"""
)

OLD = LATE.replace("different AllReduce", "different collective").replace("2.26.2", "2.24.3")

GONE = (
    HEAD
    + """\
    0         1         2       1-4         8         6   RUNNING  INCOMPLETE,ERROR,MISMATCH

Errors
======

INCOMPLETE
  Missing communicator data from 1 job process
  Process 411 on node 10.0.0.1 managing GPU 1

DEAD
  1 job process is considered dead (unreachable via the RAS network)
  Process 515 on node 10.0.0.2 managing GPU 1

#0-0 (cf264af53edbe986) INCOMPLETE
  Missing communicator data from 2 ranks
  Rank 1 -- GPU 1 managed by process 411 on node 10.0.0.1
  Rank 5 -- GPU 1 managed by process 515 on node 10.0.0.2

#0-0 (cf264af53edbe986) ERROR
  Asynchronous errors on 2 ranks
  2 ranks reported Remote process error
  Rank 4 -- GPU 0 managed by process 514 on node 10.0.0.2
  Rank 6 -- GPU 2 managed by process 516 on node 10.0.0.2

Warnings
========

TIMEOUT
  Encountered 2 communication timeouts while gathering communicator data

#0-0 (cf264af53edbe986) MISMATCH
  Communicator ranks have different status
  5 ranks have status RUNNING
  Rank 0 has status ABORT -- GPU 0 managed by process 410 on node 10.0.0.1

"""
)

OLD_MISSING = (
    HEAD
    + """\
    0         1         2         4         8         7   RUNNING  INCOMPLETE

Errors
======

#0-0 (cf264af53edbe986) INCOMPLETE
  Missing communicator data from 1 rank
  The missing rank: 5

Warnings
========

"""
)


def rank(number: int, counts: dict[str, int], **status: Any) -> dict[str, Any]:
    """One rank of the JSON answer: two hosts of four GPUs."""
    calm = {"init_state": 0, "async_error": 0, "finalize_called": False, "destroy_flag": False, "abort_flag": False}
    return {
        "rank": number,
        "host": f"10.0.0.{1 + number // 4}",
        "pid": 410 + number,
        "cuda_dev": number % 4,
        "nvml_dev": number % 4,
        "status": calm | status,
        "collective_counts": {"Broadcast": 0, "Reduce": 0, "AllGather": 0, "ReduceScatter": 0, "AllReduce": 0} | counts,
    }


def document(**changes: Any) -> dict[str, Any]:
    """Seven ranks of eight, one of them late; the eighth is dead. And a communicator that nobody has used."""
    missing = rank(7, {}) | {"status": {"unresponsive": True, "considered_dead": True}, "pid": -1, "host": "unknown"}
    del missing["collective_counts"]
    ranks = [rank(n, {"AllReduce": 6649 if n == 2 else 6650}) for n in range(7)]
    whole = {
        "nccl_version": "2.28.7",
        "cuda_runtime_version": 12080,
        "cuda_driver_version": 12080,
        "timestamp": "2025-12-19 13:07:07",
        "communicators_count": 2,
        "communicators": [
            {
                "hash": "0x1e240000000abc",
                "secondary_hash": "0x1:0x2",
                "size": 8,
                "ranks_count": 7,
                "missing_ranks_count": 1,
                "ranks": ranks,
                "missing_ranks": [missing],
            },
            {
                "hash": "0x2",
                "secondary_hash": "0x1:0x2",
                "size": 2,
                "ranks_count": 2,
                "missing_ranks_count": 0,
                "ranks": [rank(0, {}), rank(1, {})],
                "missing_ranks": [],
            },
        ],
        "ras": {"collection_time_sec": 0.012, "timeouts_count": 1},
    }
    return whole | changes


def answer(**changes: Any) -> bytes:
    """The same as bytes, over several lines as NCCL writes it."""
    return json.dumps(document(**changes), indent=2).encode() + b"\n"
