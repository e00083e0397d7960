"""NCCL's name of an operation, from the names that others give it; and bandwidth from bytes and time."""

import re

NAMES = {
    "allreduce": "AllReduce",
    "allgather": "AllGather",
    "reducescatter": "ReduceScatter",
    "alltoall": "AllToAll",
    "alltoallv": "AllToAllV",
    "broadcast": "Broadcast",
    "reduce": "Reduce",
    "gather": "Gather",
    "scatter": "Scatter",
    "sendrecv": "SendRecv",
    "hypercube": "Hypercube",
    "send": "Send",
    "recv": "Recv",
    "barrier": "Barrier",
    "coalesced": "Coalesced",
    # PyTorch: torch/distributed/flight_recorder/components/types.py lists what a dump may name.
    "allreducebarrier": "AllReduce",
    "allreducecoalesced": "AllReduce",
    "allgatherbase": "AllGather",
    "allgathersingle": "AllGather",
    "allgatherintotensorcoalesced": "AllGather",
    "allgathercoalesced": "AllGather",
    "allgatherv": "AllGatherV",
    "reducescatterbase": "ReduceScatter",
    "reducescattersingle": "ReduceScatter",
    "reducescattertensorcoalesced": "ReduceScatter",
    "reducescattercoalesced": "ReduceScatter",
    "reducescatterv": "ReduceScatterV",
    "alltoallsingle": "AllToAll",
    "alltoallbase": "AllToAll",
    "alltoallvsingle": "AllToAllV",
    "broadcastoop": "Broadcast",
    "reduceoop": "Reduce",
}
_SEPARATORS = re.compile(r"[^a-z0-9]+")


def operation(name: str) -> str | None:
    """`all_reduce`, `_all_gather_base` or `alltoall` as NCCL spells it; None for a name that we do not know."""
    return NAMES.get(_SEPARATORS.sub("", name.lower()))
