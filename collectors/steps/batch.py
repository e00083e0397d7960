"""The steps of a node's ranks between two flushes, as one report per job."""

from collections.abc import Iterable, Iterator

from collectors.contract.job import StepReport
from collectors.steps.datagram import StepDatagram

OPTIONAL = (
    "start_us",
    "step_s",
    "compute_s",
    "wait_s",
    "transfer_s",
    "data_s",
    "checkpoint_s",
    "cpu_s",
    "tokens",
    "sum_sq_len",
    "tflops_per_gpu",
    "global_batch_size",
    "microbatch_forward_s",
    "microbatch_backward_s",
)
ROWS_A_REPORT = 2000
"""About 300 KB of JSON with every column: Kafka takes 1 MB."""
MICROBATCHES_A_ROW = 16
"""So many times of microbatches are as long as the rest of a row."""


class StepBatch:
    """Collects steps in the order they came."""

    def __init__(self, cluster: str, node: str) -> None:
        self._cluster = cluster
        self._node = node
        self._jobs: dict[tuple[str, int, str | None], list[StepDatagram]] = {}
        self.rows = 0

    def add(self, step: StepDatagram) -> None:
        """Take one step."""
        self._jobs.setdefault((step.job, step.attempt, step.config_hash), []).append(step)
        self.rows += 1

    def take(self, ts_us: int) -> list[StepReport]:
        """One report for each job's attempt and configuration, in pieces where it is long; then the batch is empty.

        A column that no row filled is left out: nobody sent it.
        """
        jobs, self._jobs, self.rows = self._jobs, {}, 0
        return [
            self._report(job, attempt, config_hash, piece, ts_us)
            for (job, attempt, config_hash), steps in jobs.items()
            for piece in _pieces(steps)
        ]

    def _report(
        self, job: str, attempt: int, config_hash: str | None, steps: list[StepDatagram], ts_us: int
    ) -> StepReport:
        columns = {name: [getattr(step, name) for step in steps] for name in OPTIONAL}
        return StepReport(
            cluster=self._cluster,
            ts_us=ts_us,
            job=job,
            attempt=attempt,
            node=self._node,
            rank=[step.rank for step in steps],
            step=[step.step for step in steps],
            phase=[step.phase for step in steps],
            config_hash=config_hash,
            **{name: column for name, column in columns.items() if any(value is not None for value in column)},
        )


def _pieces(steps: Iterable[StepDatagram]) -> Iterator[list[StepDatagram]]:
    """Runs of steps that fit into one report."""
    piece: list[StepDatagram] = []
    size = 0.0
    for step in steps:
        row = 1.0 + (len(step.microbatch_forward_s or ()) + len(step.microbatch_backward_s or ())) / MICROBATCHES_A_ROW
        if piece and size + row > ROWS_A_REPORT:
            yield piece
            piece, size = [], 0.0
        piece.append(step)
        size += row
    if piece:
        yield piece
