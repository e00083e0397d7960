"""Faults of jobs and of the processes that make them up."""

from infra.fleet.fault_kind import FaultKind

JOB_KINDS: dict[str, FaultKind] = {
    "slow_data": FaultKind(
        target="node",
        size=0.3,
        low=0.01,
        high=10.0,
        meaning="further wait for data of every rank of the host, as a share of the step",
        expect=("host_slow",),
        detector="straggler",
        bound="steps",
    ),
    "job_regression": FaultKind(
        target="job",
        size=0.2,
        low=0.01,
        high=5.0,
        meaning="further compute of every rank, as a share",
        expect=("job_regression",),
        detector="straggler",
    ),
    "rank_hang": FaultKind(
        target="gpu",
        size=1.0,
        low=1.0,
        high=1.0,
        meaning="nothing: the rank on the GPU enters the next collective or not",
        expect=("job_hang_confirmed", "rank_absent"),
        detector="hang",
    ),
    "process_dead": FaultKind(
        target="gpu",
        size=1.0,
        low=1.0,
        high=1.0,
        meaning="nothing: the process of the rank on the GPU lives or not; its job does not notice",
        expect=("process_dead", "rank_silent"),
        detector="hang",
    ),
    "gpu_vanished": FaultKind(
        target="gpu",
        size=1.0,
        low=1.0,
        high=1.0,
        meaning="nothing: the exporter's page goes on without the GPU, and no driver says why",
        expect=("gpu_lost",),
        detector="xid",
        bound="scrapes",
    ),
    "exporter_stalled": FaultKind(
        target="node",
        size=1.0,
        low=1.0,
        high=1.0,
        meaning="nothing: the exporter of the node answers or not",
        expect=("gpu_silent", "collector_silent", "node_silent"),
        detector="silence",
    ),
}
