"""The training processes of a live fleet: each rank tells its node's collector through the real client."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from msgspec import to_builtins

from collectors.contract.job import JobEvent
from collectors.steps import client
from infra.fleet.microbatches import microbatch_times
from infra.fleet.run import Run
from infra.fleet.step import Step

HEARTBEAT_S = 10.0


class Trainers:
    """One client per rank and attempt. `socket` is where the collector of a node listens."""

    def __init__(self, socket: Callable[[str], Path], silent: Callable[[str, int], bool]) -> None:
        self._socket = socket
        self._silent = silent
        self._ranks: dict[str, list[client.Run]] = {}

    def moment(self, event: JobEvent, run: Run) -> None:
        """A job's processes start, save or end."""
        if event.kind == "placed":
            self._end(event.job, "failed", "the next attempt began")
            self._start(event, run)
        elif event.kind == "ended":
            self._end(event.job, event.state, event.reason)
        elif event.kind == "checkpoint" and event.step is not None and self._ranks.get(event.job):
            self._save(event.job, event.step, event.bytes, event.seconds or 0.0)

    def step(self, step: Step) -> None:
        """Every rank reports its step; nothing gets out of a silent node."""
        forward, backward = microbatch_times(step, range(len(step.members)))
        for row, (member, rank) in enumerate(zip(step.members, self._ranks.get(step.job, []), strict=False)):
            if self._silent(member.slot.node, step.end_us):
                continue
            rank.report(
                step.number,
                phase=step.phase,
                start_us=step.start_us,
                step_s=step.step_s,
                compute_s=step.compute_s[row],
                wait_s=step.wait_s[row],
                transfer_s=step.transfer_s[row],
                data_s=step.data_s[row],
                checkpoint_s=step.checkpoint_s,
                cpu_s=step.cpu_s[row],
                tokens=step.tokens,
                sum_sq_len=step.sum_sq_len[row],
                microbatch_forward_s=forward[row] if forward else None,
                microbatch_backward_s=backward[row] if backward else None,
            )

    def close(self) -> None:
        """The fleet is stopped, and its jobs with it."""
        for job in list(self._ranks):
            self._end(job, "cancelled", "the simulated fleet was stopped")

    def _start(self, event: JobEvent, run: Run) -> None:
        model = None if event.model is None else to_builtins(event.model)
        self._ranks[event.job] = [
            client.Run(
                event.job,
                place.rank,
                len(event.placement),
                member.slot.index,
                event.attempt,
                gpu_uuid=place.gpu_uuid,
                gpu_model=place.gpu_model,
                coords={"dp": member.dp, "tp": member.tp, "pp": member.pp},
                model=model,
                flops_per_token=event.flops_per_token,
                heartbeat_s=HEARTBEAT_S,
                path=str(self._socket(place.node)),
                env={},
            )
            for place, member in zip(event.placement, run.job.members if run.job is not None else (), strict=True)
        ]
        if self._ranks[event.job]:
            self._ranks[event.job][0].place(to_builtins(event.placement))

    def _end(self, job: str, state: str | None, reason: str | None) -> None:
        """Rank 0 speaks for the job; the others go without a word."""
        for place, rank in enumerate(self._ranks.pop(job, [])):
            if place == 0:
                rank.end(state, reason)
            else:
                rank.end(None)

    def _save(self, job: str, step: int, size: int | None, seconds: float) -> None:
        """Rank 0 saves, for as long as it takes: the client measures it."""
        save = self._ranks[job][0].checkpoint(step, bytes=size)
        save.__enter__()
        asyncio.get_running_loop().call_later(seconds, save.__exit__, None, None, None)
