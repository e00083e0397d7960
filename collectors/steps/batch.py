"""The steps of a node's ranks between two flushes, as one report per job."""

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
)
ROWS_A_REPORT = 2000
"""About 300 KB of JSON with every column: Kafka takes 1 MB."""


class StepBatch:
    """Collects steps in the order they came."""

    def __init__(self, cluster: str, node: str) -> None:
        self._cluster = cluster
        self._node = node
        self._jobs: dict[tuple[str, int], list[StepDatagram]] = {}
        self.rows = 0

    def add(self, step: StepDatagram) -> None:
        """Take one step."""
        self._jobs.setdefault((step.job, step.attempt), []).append(step)
        self.rows += 1

    def take(self, ts_us: int) -> list[StepReport]:
        """One report for each job's attempt, in pieces where it is long; the batch is empty afterwards.

        A column that no row filled is left out: nobody sent it.
        """
        jobs, self._jobs, self.rows = self._jobs, {}, 0
        return [
            self._report(job, attempt, steps[i : i + ROWS_A_REPORT], ts_us)
            for (job, attempt), steps in jobs.items()
            for i in range(0, len(steps), ROWS_A_REPORT)
        ]

    def _report(self, job: str, attempt: int, steps: list[StepDatagram], ts_us: int) -> StepReport:
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
            **{name: column for name, column in columns.items() if any(value is not None for value in column)},
        )
