"""The training client: tells this node's collector what each step of a rank cost.

Standard library only. It never blocks and never raises into training: what cannot be sent is counted and
dropped, and the count goes out with the next datagram. `docs/training-client.md` shows how it is used.
"""

import atexit
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any

from collectors.steps.client_courier import Courier
from collectors.steps.client_env import CONFIG, JOB, LOCAL_RANK, RANK, WORLD_SIZE, attempt_of, first, gpu_uuid_of, whole
from collectors.steps.client_names import names_of, pod_of
from collectors.steps.client_place import node_of, parts
from collectors.steps.client_step import BACKWARD, FORWARD, TROUBLE, Checkpoint, GpuTimers, Phase, Step
from collectors.steps.client_words import body, count, label, number, numbers, reason, word

SOCKET = "/run/lockstep/steps.sock"


class Run:
    """One rank of one attempt of a job. What is not given is read from torchrun's, Slurm's or MPI's variables.

    `coords` holds the rank's place in each parallel dimension, `model` what MFU needs (params, layers, heads,
    head_dim, seq_len, dtype, ...). `event` makes a GPU timer, `lambda: torch.cuda.Event(enable_timing=True)`:
    spans are then timed on the GPU's own stream, without a wait, and a step is reported when the GPU is done.
    `config_hash` names what the job runs with, the same on all ranks.
    """

    def __init__(
        self,
        job: str | None = None,
        rank: int | None = None,
        world_size: int | None = None,
        local_rank: int | None = None,
        attempt: int | None = None,
        *,
        gpu_uuid: object = None,
        gpu_model: str | None = None,
        coords: Mapping[str, int | Sequence[int]] | None = None,
        model: Mapping[str, Any] | None = None,
        flops_per_token: float | None = None,
        config_hash: str | None = None,
        event: Callable[[], Any] | None = None,
        heartbeat_s: float = 30.0,
        path: str | None = None,
        env: Mapping[str, str] = os.environ,
    ) -> None:
        self.job = str(job or first(env, JOB) or "unnamed")
        self.rank = whole(rank, env, RANK, 0)
        self.world_size = whole(world_size, env, WORLD_SIZE, 1)
        self.attempt = attempt_of(attempt, env)
        local = whole(local_rank, env, LOCAL_RANK, 0)
        self._path = path if path is not None else env.get("LOCKSTEP_STEPS_SOCKET", SOCKET)
        self._env = env
        self._here = {
            "gpu_uuid": gpu_uuid_of(gpu_uuid, env, local),
            "gpu_model": None if gpu_model is None else str(gpu_model),
            "coords": dict(coords or {}),
        }
        pod = pod_of(env)
        if pod is not None:  # a placement of thousands of ranks carries this line of each
            self._here["pod"] = pod
        self._aliases = names_of(self.job, env)
        self.config_hash = label(config_hash) or label(first(env, CONFIG))
        self._about = {
            "aliases": self._aliases,
            "ts_us": time.time_ns() // 1000,
            "world_size": self.world_size,
            "model": None if model is None else dict(model),
            "flops_per_token": flops_per_token,
        }
        self._phase = "train"
        self._step: int | None = None
        self._open: Step | None = None
        self._saving_s: float | None = None
        self._ended = False
        self.timers = GpuTimers(event)
        self._courier = Courier(
            self._path,
            f'"job":{json.dumps(self.job)},"attempt":{self.attempt},"rank":{self.rank}',
            self._greeting,
            lambda: body(self._event("heartbeat", step=self._step)),
            max(0.1, heartbeat_s),
        )
        atexit.register(self._at_exit)

    @property
    def dropped(self) -> int:
        """Datagrams that were lost since this object was made."""
        return self._courier.dropped

    @property
    def missed(self) -> int:
        """Steps that went out without the GPU's times: it was more than 16 steps behind, or never answered."""
        return self.timers.missed

    def lose(self) -> None:
        """Count what could not be reported; a callback calls this."""
        self._courier.lose()

    def step(self, step: int, *, phase: str | None = None) -> Step:
        """A context manager around one step; it measures the whole and, with its spans, the parts."""
        return Step(step, phase or self._phase, self)

    def report(
        self,
        step: int,
        *,
        phase: str | None = None,
        start_us: int | None = None,
        step_s: float | None = None,
        compute_s: float | None = None,
        wait_s: float | None = None,
        transfer_s: float | None = None,
        data_s: float | None = None,
        checkpoint_s: float | None = None,
        cpu_s: float | None = None,
        tokens: int | None = None,
        sum_sq_len: int | None = None,
        tflops_per_gpu: float | None = None,
        global_batch_size: int | None = None,
        microbatch_forward_s: Iterable[float] | None = None,
        microbatch_backward_s: Iterable[float] | None = None,
        config_hash: str | None = None,
    ) -> None:
        """Send one step that was measured elsewhere. Seconds are this rank's own; None is unknown.

        `config_hash` is only given where it is not the run's own.
        """
        try:
            saving_s, self._saving_s = self._saving_s, None
            if saving_s is not None:  # readers take a step's time as holding its save's
                checkpoint_s = saving_s + (checkpoint_s or 0.0)
                step_s = None if step_s is None else saving_s + step_s
                start_us = None if start_us is None else start_us - int(saving_s * 1e6)
            if start_us is None and step_s is not None:
                start_us = time.time_ns() // 1000 - int(step_s * 1e6)
            self._step = int(step)
            said = (
                f'"step":{self._step},"phase":"{phase or self._phase}"'
                f"{count('start_us', start_us)}{number('step_s', step_s)}{number('compute_s', compute_s)}"
                f"{number('wait_s', wait_s)}{number('transfer_s', transfer_s)}{number('data_s', data_s)}"
                f"{number('checkpoint_s', checkpoint_s)}{number('cpu_s', cpu_s)}{count('tokens', tokens)}"
                f"{count('sum_sq_len', sum_sq_len)}{number('tflops_per_gpu', tflops_per_gpu)}"
                f"{count('global_batch_size', global_batch_size)}"
                f"{numbers('microbatch_forward_s', microbatch_forward_s)}"
                f"{numbers('microbatch_backward_s', microbatch_backward_s)}"
                f"{word('config_hash', self.config_hash if config_hash is None else config_hash)}"
            )
            self._courier.say("step", said)
        except TROUBLE:
            self._courier.lose()

    def waits(self) -> None:
        """The rest of the open `compute()` is waiting; for a hook on the gradient that comes last."""
        step = self._open
        if step is not None and step.open is not None:
            step.open.waits()

    def begun(self, step: Step | None) -> None:
        """A step calls this; users do not."""
        self._open = step
        if step is not None and isinstance(step.step, int):
            self._step = step.step

    def settled(self, step: Step) -> None:
        """A step calls this; users do not."""
        self.report(
            step.step,
            phase=step.phase,
            start_us=step.start_us,
            step_s=step.step_s,
            checkpoint_s=step.checkpoint_s,
            cpu_s=step.cpu_s,
            tokens=step.tokens,
            sum_sq_len=step.sum_sq_len,
            tflops_per_gpu=step.tflops_per_gpu,
            global_batch_size=step.global_batch_size,
            config_hash=step.config_hash,
            microbatch_forward_s=step.microbatches.get(FORWARD),
            microbatch_backward_s=step.microbatches.get(BACKWARD),
            **step.seconds,
        )

    def configure(self, config_hash: str) -> None:
        """From the next step on the job runs with another configuration: on every rank, between two steps."""
        self.config_hash = label(config_hash)
        if self.rank == 0:
            self._tell("note", state="config", step=self._step, config_hash=self.config_hash)

    def phase(self, phase: str) -> Phase:
        """A context manager: steps begun inside are warmup, train, eval, checkpoint, restart or profile."""
        return Phase(phase, self._swap_phase)

    def checkpoint(self, step: int, *, bytes: int | None = None) -> Checkpoint:
        """A context manager around a save; its time is added to the next step, or goes with the step around it."""
        return Checkpoint(step, bytes, self._saved)

    def saved(self, step: int, seconds: float | None, *, bytes: int | None = None) -> None:
        """A save that was timed elsewhere; `seconds` is how long it held up training."""
        done = Checkpoint(step, bytes, self._saved)
        done.seconds = seconds
        self._saved(done)

    def here(self) -> dict[str, Any]:
        """This rank's line of the placement."""
        return {"rank": self.rank, "node": node_of(self._path, self._env), **self._here}

    def place(self, ranks: Iterable[Mapping[str, Any]]) -> None:
        """The whole placement of the job, a `here()` for each rank. Rank 0 sends it; on others nothing happens."""
        if self.rank != 0:
            return
        try:
            for part in parts(ranks, self._aliases):
                self._courier.keep("placed", part)
        except TROUBLE:
            self._courier.lose()

    def place_by(self, all_gather_object: Callable[[list[Any], Any], Any]) -> None:
        """Gather the placement by `torch.distributed.all_gather_object` and send it.

        A collective: call it on every rank. Its own errors are raised: kept quiet, they would part the ranks.
        """
        ranks: list[Any] = [None] * self.world_size
        all_gather_object(ranks, self.here())
        self.place(ranks)

    def end(self, state: str | None = "completed", reason: str | None = None) -> None:
        """The rank ends. Rank 0 says so for the job; another rank only when it did not complete.

        Waits up to a second for what is still to be sent, where a collector listens.
        """
        if self._ended or os.getpid() != self._courier.pid:
            return
        self._ended = True
        self.timers.flush()
        if self.rank == 0 or state not in (None, "completed"):
            self._tell("ended", state=state, reason=reason, step=self._step)
        self._courier.close()

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, kind: type[BaseException] | None, why: BaseException | None, _: TracebackType | None) -> None:
        if why is None or (isinstance(why, SystemExit) and why.code in (None, 0)):
            self.end()
        else:
            self.end("cancelled" if isinstance(why, KeyboardInterrupt) else "failed", reason(why))

    def _at_exit(self) -> None:
        why = getattr(sys, "last_value", None)
        if isinstance(why, BaseException):
            self.end("failed", reason(why))
        else:
            self.end(None)

    def _swap_phase(self, phase: str) -> str:
        before, self._phase = self._phase, phase
        return before

    def _saved(self, saved: Checkpoint) -> None:
        if self._open is not None:
            self._open.phase = "checkpoint"
        if saved.seconds is not None and self._open is None:
            self._saving_s = saved.seconds + (self._saving_s or 0.0)
        elif saved.seconds is not None and self._open is not None:
            self._open.checkpoint_s = saved.seconds + (self._open.checkpoint_s or 0.0)
        if self.rank == 0:
            self._tell("checkpoint", step=saved.step, bytes=saved.bytes, seconds=saved.seconds)

    def _event(self, kind: str, **fields: Any) -> dict[str, Any]:
        return {"kind": kind, "ts_us": time.time_ns() // 1000, "pid": os.getpid(), **fields}

    def _tell(self, kind: str, **fields: Any) -> None:
        try:
            self._courier.keep("event", body(self._event(kind, **fields)))
        except TROUBLE:
            self._courier.lose()

    def _greeting(self) -> str:
        about = {**self._about, **self._here, "config_hash": self.config_hash, "pid": os.getpid()}
        try:
            return body(about)
        except TROUBLE:  # an odd value in the model or the coordinates: the rest is still true
            return body({**about, "model": None, "flops_per_token": None, "coords": {}})
