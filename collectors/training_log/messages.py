"""Rows and events of one job."""

from dataclasses import dataclass

from collectors.contract.job import JobEvent, JobEventKind, ModelShape, Phase
from collectors.steps.datagram import StepDatagram
from collectors.training_log.clock import Clock
from collectors.training_log.fact import Stepped
from collectors.training_log.kept import Kept


@dataclass(frozen=True, slots=True)
class Row:
    """One step of one rank, with the time at which it ended."""

    node: str
    step: StepDatagram
    end_us: int


class Messages:
    """Makes them in the order in which they are told; `take` gives them away."""

    def __init__(self, cluster: str, job: str, kept: Kept, clock: Clock) -> None:
        self._cluster = cluster
        self._job = job
        self._kept = kept
        self._clock = clock
        self._out: list[Row | JobEvent] = []

    def take(self) -> list[Row | JobEvent]:
        """What was made since the last call."""
        out, self._out = self._out, []
        return out

    def row(
        self,
        *,
        step: int,
        phase: Phase,
        rank: int,
        node: str,
        seconds: float | None,
        start_us: int | None = None,
        end_us: int | None = None,
        fact: Stepped | None = None,
    ) -> None:
        """One step, evaluation or save; without times of its own it ends now."""
        step_s = None if seconds is None else round(seconds, 6)
        row = StepDatagram(
            job=self._job,
            attempt=self._kept.attempt,
            rank=rank,
            step=step,
            phase=phase,
            start_us=self._clock.before_us(seconds) if start_us is None and seconds is not None else start_us,
            step_s=step_s,
            checkpoint_s=step_s if phase == "checkpoint" else None,
            tokens=None if fact is None else fact.tokens,
            global_batch_size=None if fact is None else fact.global_batch_size,
            tflops_per_gpu=None if fact is None else fact.tflops_per_gpu,
        )
        self._out.append(Row(node, row, self._clock.now_us if end_us is None else end_us))

    def event(
        self,
        kind: JobEventKind,
        *,
        ts_us: int | None = None,
        model: ModelShape | None = None,
        state: str | None = None,
        reason: str | None = None,
        step: int | None = None,
        seconds: float | None = None,
        rank: int | None = None,
        node: str | None = None,
    ) -> None:
        """A moment in the job's life; without a time of its own it is now."""
        self._out.append(
            JobEvent(
                cluster=self._cluster,
                ts_us=self._clock.now_us if ts_us is None else ts_us,
                job=self._job,
                attempt=self._kept.attempt,
                kind=kind,
                model=model,
                state=state,
                reason=reason,
                step=step,
                seconds=seconds,
                rank=rank,
                node=node,
            )
        )
