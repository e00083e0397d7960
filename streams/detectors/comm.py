"""Late ranks and slow links from what NCCL says of its collectives, for jobs whose steps say less.

The rank that comes last waits for nobody: its time is the shortest. What is left of the shortest time is the transfer,
which no late rank makes longer: where it grows for all at once, a link is slow.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from collectors.contract.job import CollectiveWindow, CommMember, JobEvent, StepReport
from collectors.contract.message import Message
from collectors.contract.topic import Topic
from collectors.contract.topics import JOB_EVENTS, JOB_PLACEMENTS, JOB_STEPS, NCCL_WINDOWS
from streams.contract import Finding
from streams.detector import Tick
from streams.detectors.comm_findings import NAME
from streams.detectors.comm_limits import CommLimits
from streams.detectors.comm_state import Comm, CommState, End, Kept
from streams.detectors.comm_verdicts import judge, over

_SWEEP_US = 1_000_000
"""Collectives that are waited for no longer are looked for no oftener."""
_CATCH_UP = 64
"""Looks that are made up for after a gap."""
_P2P = ("Send", "Recv")
_INFINITE = float("inf")
_MOST_RANK = 1 << 17


class CommDetector:
    """One state per job."""

    name = NAME
    topics: tuple[Topic[Any], ...] = (NCCL_WINDOWS, JOB_STEPS, JOB_EVENTS, JOB_PLACEMENTS)

    def __init__(self, limits: CommLimits | None = None) -> None:
        self.limits = limits or CommLimits()

    def fresh(self) -> CommState:
        """The state of a job never heard."""
        return CommState()

    def step(self, state: CommState, batch: Sequence[Message | Tick]) -> tuple[CommState, list[Finding]]:
        """Take windows, reports, events and ticks of one job in arrival order."""
        out: list[Finding] = []
        for item in batch:
            if isinstance(item, CollectiveWindow):
                if item.source == "nccl-inspector" and item.comm and item.comm_size is not None:
                    out += self._window(state, item)
                elif item.source == "nccl-log":
                    state.roll.learn_members(item.comm_size, item.members)
            elif isinstance(item, StepReport):
                self._report(state, item)
            elif isinstance(item, JobEvent):
                out += self._event(state, item)
            elif isinstance(item, Tick):
                out += self._pass(state, item.ts_us)
                ended_us = state.kept.ended_us
                if ended_us is not None and state.now_us >= ended_us + self.limits.ended_us:
                    state = self.fresh()
        return state, out

    def keep(self, state: CommState) -> bytes | None:
        """Open episodes with the past that they are measured by; None for a job of which no window came."""
        return None if state.kept == Kept() else msgspec.msgpack.encode(state.kept)

    def restore(self, kept: bytes) -> CommState:
        """Open episodes at once; the windows come back with the last minutes of the topic."""
        state = CommState(kept=msgspec.msgpack.decode(kept, type=Kept))
        state.muted_us = state.kept.edge_us
        return state

    def _report(self, state: CommState, report: StepReport) -> None:
        """What the job's own reports tell: the straggler detector judges by them, and better."""
        if report.attempt < state.kept.attempt:
            return
        if any(value is not None for value in report.compute_s) and "train" in report.phase:
            state.compute_us = max(state.compute_us, report.ts_us)
        if any(value is not None for value in report.transfer_s):
            state.transfer_us = max(state.transfer_us, report.ts_us)

    def _event(self, state: CommState, event: JobEvent) -> list[Finding]:
        kept = state.kept
        if event.attempt < kept.attempt:
            return []
        state.roll.learn(event)
        out: list[Finding] = []
        if event.kind == "ended":
            if kept.job and (kept.ended_us is None or event.ts_us > kept.ended_us):
                out = over(state, event.ts_us, f"{event.job} ended")
                state.begin(event.attempt)
                kept.ended_us = event.ts_us
        elif event.attempt > kept.attempt or (event.kind == "restarted" and event.ts_us > kept.restarted_us):
            kept.restarted_us = max(kept.restarted_us, event.ts_us)
            out = over(state, event.ts_us, f"{event.job} started again, with other communicators")
            state.begin(event.attempt)
        return out

    def _window(self, state: CommState, window: CollectiveWindow) -> list[Finding]:
        kept = state.kept
        if kept.ended_us is not None:
            if window.ts_us <= kept.ended_us + self.limits.usable_us:
                return []
            kept.ended_us = None
        out = self._pass(state, window.ts_us)
        kept.cluster, kept.job = window.cluster, window.job
        comm = self._comm(state, window)
        end = End(window.node, window.pid)
        none: list[None] = [None] * len(window.rank)
        columns = zip(
            window.rank,
            window.seq,
            window.coll,
            window.bytes or none,
            window.exec_us or none,
            window.busbw_gbs or none,
            window.peer or none,
            strict=False,
        )
        most = min(comm.size, _MOST_RANK)
        for rank, seq, coll, size, exec_us, busbw, peer in columns:
            if rank is None or seq is None or not 0 <= rank < most:
                continue
            comm.ends[rank] = end
            if coll in _P2P:
                if peer is not None and 0 <= peer < comm.size:
                    comm.pairs.take(self.limits, coll, rank, peer, seq, exec_us, busbw, window.ts_us)
                continue
            if seq & comm.mask or exec_us is None or not 0 < exec_us < _INFINITE or state.rows >= self.limits.most_rows:
                continue
            pending = comm.joins.take(coll, seq, rank, exec_us, size, window.ts_us)
            if pending is None:
                continue
            state.rows += pending.added
            if len(pending.exec_us) == comm.size:
                self._close(state, comm, (coll, seq), pending.last_us)
        if window.pid is not None and comm.size == state.roll.world():
            ranks = set(window.rank) - {None}
            members = [CommMember(rank=rank, host=end.node, pid=end.pid) for rank in ranks if rank is not None]
            state.roll.learn_members(comm.size, members if len(members) == 1 else [])
        return out

    def _comm(self, state: CommState, window: CollectiveWindow) -> Comm:
        assert window.comm_size is not None
        comm = state.comms.get(window.comm)
        if comm is None:
            if len(state.comms) >= self.limits.most_comms:
                oldest = state.comms.pop(min(state.comms, key=lambda name: state.comms[name].heard_us))
                state.rows -= oldest.joins.rows()
            comm = Comm(window.comm_size, window.comm_nodes, window.comm_name, window.ts_us)
            comm.series.bases = state.kept.bases.get(window.comm, {})
            comm.pairs.bases = state.kept.pair_bases.get(window.comm, {})
            state.comms[window.comm] = comm
        comm.heard_us = max(comm.heard_us, window.ts_us)
        return comm

    def _close(self, state: CommState, comm: Comm, key: tuple[str, int], ts_us: int) -> None:
        state.rows -= len(comm.joins.open[key].exec_us)
        joined = comm.joins.close(self.limits, key, comm.size, ts_us)
        if joined is None or not comm.series.take(self.limits, joined):
            return
        if comm.series.windows[-1].count > self.limits.most_joined:
            comm.mask = 2 * comm.mask + 1
            comm.series.stride = comm.mask + 1
        if not comm.series.slow_kinds():
            comm.slow_us = None
        elif comm.slow_us is None:
            comm.slow_us = ts_us

    def _pass(self, state: CommState, now_us: int) -> list[Finding]:
        """Time passes: what is waited for no longer is closed, and all communicators are looked at together."""
        state.now_us = max(state.now_us, now_us)
        if state.now_us >= state.swept_us + _SWEEP_US:
            state.swept_us = state.now_us // _SWEEP_US * _SWEEP_US
            for comm in state.comms.values():
                for key, deadline_us in comm.joins.due(self.limits, state.now_us):
                    self._close(state, comm, key, deadline_us)
        out: list[Finding] = []
        every = self.limits.window_us
        if state.judge_us == 0 or state.now_us >= state.judge_us + _CATCH_UP * every:
            state.judge_us = state.now_us // every * every
        while state.judge_us <= state.now_us:
            ts_us, state.judge_us = state.judge_us, state.judge_us + every
            if state.comms and state.kept.ended_us is None and ts_us > state.muted_us:
                out += judge(state, self.limits, ts_us)
        return out
