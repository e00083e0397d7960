"""A training log, line by line, as steps and events."""

from dataclasses import dataclass
from datetime import tzinfo

from msgspec import Struct, field

from collectors.contract.job import JobEvent, JobEventKind, ModelShape, Phase
from collectors.steps.datagram import MAX_RANKS, StepDatagram
from collectors.training_log.fact import Began, Ended, Evaluated, Fact, Failed, Noted, Saved, Saving, Stepped, Told
from collectors.training_log.forms import FORMS
from collectors.training_log.line import Line, read_lines
from collectors.training_log.straggler import Straggler
from collectors.training_log.trouble import Trouble

RANKS = 4096
"""Ranks of one log that are remembered; more print one line a step each only by mistake."""
SPREAD = 1000
"""A line's mean is given to each of its steps, where it stands for at most so many."""
LONGEST_S = 1e6
QUIET_US = 60_000_000
"""After an error and so long a silence the job is over: an error that was caught is followed by steps."""


class RankSeen(Struct):
    """The last step that one rank printed; `at_us` None: its line had no time of its own."""

    step: int
    attempt: int
    at_us: int | None = None


class Kept(Struct):
    """What outlives the process: with it the next one goes on in the middle of a log."""

    form: str | None = None
    attempt: int = 0
    started: bool = False
    ended: bool = False
    clock_us: int | None = None
    began: bool = False
    ever_began: bool = False
    several: bool = False
    told: Told = field(default_factory=Told)
    ranks: dict[int, RankSeen] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Row:
    """One step of one rank, with the time at which it ended."""

    node: str
    step: StepDatagram
    end_us: int


class TrainingLog:
    """Lines in, rows and events out. No clock, no file.

    Times: a line's stamp; else the moment it came, where the log is followed (`arrived_us`); else the last known time
    and the durations printed since, counted on from `since_us`. `walked` says so, where no line has a time.
    """

    def __init__(
        self,
        *,
        cluster: str,
        job: str,
        this_node: str,
        node: str | None = None,
        rank: int | None = None,
        attempt: int = 0,
        form: str | None = None,
        zone: tzinfo | None = None,
        since_us: int = 0,
        walked: str | None = None,
        kept: Kept | None = None,
    ) -> None:
        self._cluster = cluster
        self._job = job
        self._this_node = this_node
        self._node = node
        self._rank = rank
        self._zone = zone
        self._walked = walked
        self.kept = kept or Kept(form=form, attempt=attempt, clock_us=since_us)
        names = [form] if form is not None else list(FORMS)
        self._forms = {name: FORMS[name](self.kept.told) for name in names}
        self._choose(self.kept.form)
        self._trouble = Trouble()
        self._straggler = Straggler()
        self._pending: tuple[Failed, int] | None = None
        self._saving_us: int | None = None
        self._paused_s = 0.0
        self._timed = False
        self._model: ModelShape | None = None
        self._evaluated_at: tuple[int, int] | None = None
        self._out: list[Row | JobEvent] = []

    @property
    def form(self) -> str | None:
        """Whose log it is; None: not known yet."""
        return self.kept.form

    def read(self, raw: bytes, arrived_us: int | None = None) -> list[Row | JobEvent]:
        """What one raw line says. `arrived_us` is given for a line that was written just now."""
        for line in read_lines(raw, self._zone, self.kept.clock_us or 0):
            self._line(line, arrived_us)
        return self._take()

    def rest(self, now_us: int | None = None) -> list[Row | JobEvent]:
        """What was held back for lines that did not come; with `now_us`, what may still come is waited for."""
        if now_us is None:
            for form in list(self._forms.values()):
                for fact in form.rest():
                    self._fact(fact, Line(""))
            for note in self._straggler.rest():
                self._fact(note, Line(""))
        if self._pending is not None and (now_us is None or now_us - self._pending[1] >= QUIET_US):
            self._end(self._pending[0])
        return self._take()

    def _take(self) -> list[Row | JobEvent]:
        out, self._out = self._out, []
        return out

    def _line(self, line: Line, arrived_us: int | None) -> None:
        now_us = line.ts_us if line.ts_us is not None else arrived_us
        self._timed = now_us is not None
        if now_us is not None:
            self.kept.clock_us = now_us
        for fact in (*self._trouble.read(line), *self._straggler.read(line)):
            self._fact(fact, line)
        for name, form in list(self._forms.items()):
            for fact in form.read(line):
                if isinstance(fact, Stepped) and name != self.kept.form:
                    self._choose(name)
                if name == self.kept.form or isinstance(fact, Began):
                    self._fact(fact, line)
            if name == self.kept.form:
                break
        if self.kept.started and (model := _model(self.kept.told)) != self._model:
            self._model = model
            self._event("note", model=model, state="model")

    def _choose(self, name: str | None) -> None:
        """Forms that say less than the chosen one are heard no more."""
        if name is None:
            return
        self.kept.form = name
        last = list(FORMS).index(name)
        self._forms = {key: form for i, key in enumerate(FORMS) if i <= last and (form := self._forms.get(key))}

    def _fact(self, fact: Fact, line: Line) -> None:
        match fact:
            case Stepped():
                self._stepped(fact, line)
            case Evaluated():
                self._evaluated(fact, line)
            case Saving():
                self._saving_us = self._now_us() if self._timed else None
            case Saved():
                self._saved(fact, line)
            case Began():
                self._began(fact, line)
            case Failed():
                if fact.sure:
                    self._end(fact)
                elif self._pending is None and not self.kept.ended:
                    self._pending = (fact, self._now_us())
            case Ended():
                self._end(Failed(reason=fact.reason or "", sure=True, state=fact.state))
            case Noted():
                node = fact.node or self._where(line)
                self._event("note", state="straggler", reason=fact.text, rank=fact.rank, node=node)

    def _began(self, fact: Began, line: Line) -> None:
        self.kept.began = self.kept.ever_began = True
        self._paused_s = 0.0
        if fact.at_step is not None and self._timed:
            rank = self._who(None, line)
            if rank not in self.kept.ranks:
                self.kept.ranks[rank] = RankSeen(fact.at_step, self.kept.attempt, self._now_us())

    def _stepped(self, fact: Stepped, line: Line) -> None:
        kept, rank = self.kept, self._who(fact.rank, line)
        seen = kept.ranks.get(rank)
        if seen is not None and seen.attempt != kept.attempt:
            seen = None
        if seen is not None and fact.step == seen.step and not kept.began:
            kept.several = True
            return
        if self._again(fact, seen):
            kept.attempt += 1
            kept.started = kept.ended = False
            seen = None
        elif seen is not None and fact.step <= seen.step:
            return
        many = 1 if seen is None else fact.step - seen.step
        step_s = fact.step_s
        if step_s is None and seen is not None and seen.at_us is not None and self._timed:
            step_s = max(0.0, (self._now_us() - seen.at_us) / 1e6 - self._paused_s) / many or None
        if step_s is None or step_s > LONGEST_S or many > SPREAD:
            step_s, many = (None if step_s is None or step_s > LONGEST_S else step_s), 1
        if not self._timed and step_s is not None:
            kept.clock_us = self._now_us() + round(step_s * many * 1e6)
        end_us = self._now_us()
        begin_us = end_us - round((step_s or 0.0) * many * 1e6)
        self._start(begin_us, fact, rank, line)
        for i in range(many):
            start_us = None if step_s is None else begin_us + round(step_s * i * 1e6)
            ended_us = end_us if start_us is None or step_s is None else start_us + round(step_s * 1e6)
            self._row(fact.step - many + 1 + i, "train", rank, line, ended_us, start_us, step_s, fact)
        if len(kept.ranks) >= RANKS and rank not in kept.ranks:
            del kept.ranks[next(iter(kept.ranks))]
        kept.ranks[rank] = RankSeen(fact.step, kept.attempt, end_us if self._timed else None)
        kept.began = False
        self._pending = None
        self._paused_s = 0.0

    def _again(self, fact: Stepped, seen: RankSeen | None) -> bool:
        """Steps fall at a restart. Where several ranks print without a name, one may be a step behind another."""
        kept = self.kept
        if seen is not None and fact.step <= seen.step:
            return kept.began or not kept.several or fact.step < seen.step - 1
        over = kept.ended or (self._pending is not None and kept.began)
        return over and (kept.began or not kept.ever_began)

    def _evaluated(self, fact: Evaluated, line: Line) -> None:
        rank = self._who(None, line)
        step = fact.step if fact.step is not None else self._last_step()
        if step is None:
            return
        rank = rank if rank in self.kept.ranks else next(iter(self.kept.ranks), rank)
        if fact.seconds is None and self._evaluated_at == (self.kept.attempt, step):
            return
        self._evaluated_at = (self.kept.attempt, step)
        seen, seconds = self.kept.ranks.get(rank), fact.seconds
        if seconds is None and self._timed and seen is not None and seen.at_us is not None and seen.step == step:
            seconds = max(0.0, (self._now_us() - seen.at_us) / 1e6 - self._paused_s) or None
        self._pause(seconds)
        self._row(step, "eval", rank, line, self._now_us(), self._before_us(seconds), seconds)

    def _saved(self, fact: Saved, line: Line) -> None:
        step = fact.step if fact.step is not None else self._last_step()
        seconds, began_us, self._saving_us = fact.seconds, self._saving_us, None
        if seconds is None and began_us is not None and self._timed:
            seconds = max(0.0, (self._now_us() - began_us) / 1e6)
        self._pause(seconds)
        rank = self._who(None, line)
        rank = rank if rank in self.kept.ranks else next(iter(self.kept.ranks), rank)
        self._event("checkpoint", step=step, seconds=seconds, rank=rank, node=self._where(line))
        if step is not None and seconds is not None:
            begin_us = self._before_us(seconds)
            self._row(step, "checkpoint", rank, line, self._now_us(), begin_us, seconds, checkpoint_s=seconds)

    def _pause(self, seconds: float | None) -> None:
        self._paused_s += seconds or 0.0
        if not self._timed and seconds is not None:
            self.kept.clock_us = self._now_us() + round(seconds * 1e6)

    def _end(self, fact: Failed) -> None:
        pending, self._pending = self._pending, None
        if self.kept.ended or not self.kept.started:
            return
        self.kept.ended = True
        reason = fact.reason
        if pending is not None and pending[0] is not fact and fact.state == "failed":
            reason = f"{pending[0].reason} ({fact.reason})"
        self._event("ended", state=fact.state, reason=reason or None, step=self._last_step())

    def _start(self, begin_us: int, fact: Stepped, rank: int, line: Line) -> None:
        kept = self.kept
        if kept.started:
            return
        kept.started, kept.ended = True, False
        self._model = _model(kept.told)
        again = kept.attempt > 0
        self._event(
            "restarted" if again else "started",
            ts_us=begin_us,
            model=self._model,
            step=fact.step if again else None,
            reason=None if self._timed else self._walked,
            rank=rank,
            node=self._where(line),
        )

    def _row(
        self,
        step: int,
        phase: Phase,
        rank: int,
        line: Line,
        end_us: int,
        start_us: int | None,
        step_s: float | None,
        fact: Stepped | None = None,
        checkpoint_s: float | None = None,
    ) -> None:
        row = StepDatagram(
            job=self._job,
            attempt=self.kept.attempt,
            rank=rank,
            step=step,
            phase=phase,
            start_us=start_us,
            step_s=None if step_s is None else round(step_s, 6),
            checkpoint_s=None if checkpoint_s is None else round(checkpoint_s, 6),
            tokens=None if fact is None else fact.tokens,
            tflops_per_gpu=None if fact is None else fact.tflops_per_gpu,
        )
        self._out.append(Row(self._where(line), row, end_us))

    def _event(
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
        self._out.append(
            JobEvent(
                cluster=self._cluster,
                ts_us=self._now_us() if ts_us is None else ts_us,
                job=self._job,
                attempt=self.kept.attempt,
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

    def _now_us(self) -> int:
        return self.kept.clock_us or 0

    def _before_us(self, seconds: float | None) -> int | None:
        return None if seconds is None else self._now_us() - round(seconds * 1e6)

    def _last_step(self) -> int | None:
        return max((seen.step for seen in self.kept.ranks.values() if seen.attempt == self.kept.attempt), default=None)

    def _who(self, rank: int | None, line: Line) -> int:
        told = next((r for r in (self._rank, rank, line.rank, line.local) if r is not None), 0)
        return told if told < MAX_RANKS else 0

    def _where(self, line: Line) -> str:
        return self._node or line.host or self._this_node


def _model(told: Told) -> ModelShape | None:
    """None where nothing was told."""
    model = ModelShape(
        params=None if told.experts and told.active_params is None else told.params,
        active_params=told.active_params,
        layers=told.layers,
        heads=told.heads,
        head_dim=told.head_dim,
        seq_len=told.seq_len,
        dtype=told.dtype,
        name=told.name,
    )
    return None if model == ModelShape() else model
