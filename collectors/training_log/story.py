"""From what single lines say to what happened."""

from collectors.steps.datagram import MAX_RANKS
from collectors.training_log.clock import Clock
from collectors.training_log.fact import Began, Ended, Evaluated, Fact, Failed, Noted, Saved, Saving, Stepped
from collectors.training_log.kept import Kept, RankSeen, model_of
from collectors.training_log.line import Line
from collectors.training_log.messages import Messages

RANKS = 4096
"""Ranks of one log that are remembered: as many may print."""
SPREAD = 1000
"""A line's mean is given to each of its steps, where it stands for at most so many."""
LONGEST_S = 1e6
QUIET_US = 60_000_000
"""After an error and so long a silence the job is over: an error that was caught is followed by steps."""


class Story:
    """Steps, saves, evaluations, starts and ends of one job's attempts."""

    def __init__(
        self,
        kept: Kept,
        clock: Clock,
        messages: Messages,
        *,
        this_node: str,
        node: str | None,
        rank: int | None,
        walked: str | None,
    ) -> None:
        self._kept = kept
        self._clock = clock
        self._messages = messages
        self._this_node = this_node
        self._node = node
        self._rank = rank
        self._walked = walked
        self._model = model_of(kept.told)
        self._pending: tuple[Failed, int] | None = None
        self._saving_us: int | None = None
        self._evaluated_at: tuple[int, int] | None = None
        self._paused_s = 0.0
        """Of saves and evaluations since the last step: no time of the next one's."""

    def tell(self, fact: Fact, line: Line) -> None:
        """One fact of one line."""
        match fact:
            case Stepped():
                self._stepped(fact, line)
            case Evaluated():
                self._evaluated(fact, line)
            case Saving():
                self._saving_us = self._clock.now_us if self._clock.timed else None
            case Saved():
                self._saved(fact, line)
            case Began():
                self._began(fact, line)
            case Failed():
                if fact.sure:
                    self._end(fact)
                elif self._pending is None and not self._kept.ended:
                    self._pending = (fact, self._clock.now_us)
            case Ended():
                self._end(Failed(reason=fact.reason or "", sure=True, state=fact.state))
            case Noted():
                node = fact.node or self._where(line)
                self._messages.event("note", state="straggler", reason=fact.text, rank=fact.rank, node=node)

    def learn(self) -> None:
        """Tell what was printed of the model after the job's start."""
        if self._kept.started and (model := model_of(self._kept.told)) != self._model:
            self._model = model
            self._messages.event("note", model=model, state="model")

    def quiet(self, now_us: int | None) -> None:
        """No line comes: is the job over? None: no line will come."""
        if self._pending is not None and (now_us is None or now_us - self._pending[1] >= QUIET_US):
            self._end(self._pending[0])

    def _began(self, fact: Began, line: Line) -> None:
        kept = self._kept
        kept.began = kept.ever_began = True
        self._paused_s = 0.0
        rank = self._who(None, line)
        if fact.at_step is not None and self._clock.timed and rank not in kept.ranks:
            kept.ranks[rank] = RankSeen(fact.at_step, kept.attempt, self._clock.now_us)

    def _stepped(self, fact: Stepped, line: Line) -> None:
        kept, clock, rank = self._kept, self._clock, self._who(fact.rank, line)
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
        many, step_s = self._mean(fact, seen)
        if step_s is not None:
            clock.passed(step_s * many)
        begin_us = clock.before_us((step_s or 0.0) * many)
        self._start(begin_us, fact, rank, line)
        for i in range(many):
            start_us = None if step_s is None else begin_us + round(step_s * i * 1e6)
            self._messages.row(
                step=fact.step - many + 1 + i,
                phase="train",
                rank=rank,
                node=self._where(line),
                seconds=step_s,
                start_us=start_us,
                end_us=None if start_us is None or step_s is None else start_us + round(step_s * 1e6),
                fact=fact,
            )
        if len(kept.ranks) >= RANKS and rank not in kept.ranks:
            del kept.ranks[next(iter(kept.ranks))]
        kept.ranks[rank] = RankSeen(fact.step, kept.attempt, clock.now_us if clock.timed else None)
        kept.began = False
        self._pending = None
        self._paused_s = 0.0

    def _mean(self, fact: Stepped, seen: RankSeen | None) -> tuple[int, float | None]:
        """How many steps a line stands for, and the seconds of each: by its own word, or by the time since the last."""
        many, step_s = 1 if seen is None else fact.step - seen.step, fact.step_s
        if step_s is None and seen is not None:
            since_s = self._clock.since_s(seen.at_us)
            step_s = None if since_s is None else max(0.0, since_s - self._paused_s) / many or None
        if step_s is None or step_s > LONGEST_S:
            return 1, None
        return (1 if many > SPREAD or step_s * many > LONGEST_S else many), step_s

    def _again(self, fact: Stepped, seen: RankSeen | None) -> bool:
        """Steps fall at a restart. Where several ranks print without a name, one may be a step behind another."""
        kept = self._kept
        if seen is not None and fact.step <= seen.step:
            return kept.began or not kept.several or fact.step < seen.step - 1
        over = kept.ended or (self._pending is not None and kept.began)
        return over and (kept.began or not kept.ever_began)

    def _evaluated(self, fact: Evaluated, line: Line) -> None:
        kept, seconds = self._kept, fact.seconds
        step = fact.step if fact.step is not None else kept.last_step()
        if step is None or (seconds is None and self._evaluated_at == (kept.attempt, step)):
            return
        self._evaluated_at = (kept.attempt, step)
        rank = self._printer(line)
        seen = kept.ranks.get(rank)
        if seconds is None and seen is not None and seen.step == step:
            since_s = self._clock.since_s(seen.at_us)
            seconds = None if since_s is None else max(0.0, since_s - self._paused_s) or None
        self._pause(seconds)
        self._messages.row(step=step, phase="eval", rank=rank, node=self._where(line), seconds=seconds)

    def _saved(self, fact: Saved, line: Line) -> None:
        step = fact.step if fact.step is not None else self._kept.last_step()
        seconds = self._clock.since_s(self._saving_us) if fact.seconds is None else fact.seconds
        self._saving_us = None
        self._pause(seconds)
        rank, node = self._printer(line), self._where(line)
        self._messages.event("checkpoint", step=step, seconds=seconds, rank=rank, node=node)
        if step is not None and seconds is not None:
            self._messages.row(step=step, phase="checkpoint", rank=rank, node=node, seconds=seconds)

    def _pause(self, seconds: float | None) -> None:
        self._paused_s += seconds or 0.0
        self._clock.passed(seconds)

    def _start(self, begin_us: int, fact: Stepped, rank: int, line: Line) -> None:
        kept = self._kept
        if kept.started:
            return
        kept.started, kept.ended = True, False
        self._model = model_of(kept.told)
        again = kept.attempt > 0
        self._messages.event(
            "restarted" if again else "started",
            ts_us=begin_us,
            model=self._model,
            step=fact.step if again else None,
            reason=None if self._clock.timed else self._walked,
            rank=rank,
            node=self._where(line),
        )

    def _end(self, fact: Failed) -> None:
        kept, pending, self._pending = self._kept, self._pending, None
        if kept.ended or not kept.started:
            return
        kept.ended = True
        reason = fact.reason
        if pending is not None and pending[0] is not fact and fact.state == "failed":
            reason = f"{pending[0].reason} ({fact.reason})"
        self._messages.event("ended", state=fact.state, reason=reason or None, step=kept.last_step())

    def _printer(self, line: Line) -> int:
        """The rank whose steps are read: others may say that they saved."""
        rank = self._who(None, line)
        return rank if rank in self._kept.ranks else next(iter(self._kept.ranks), rank)

    def _who(self, rank: int | None, line: Line) -> int:
        told = next((r for r in (self._rank, rank, line.rank, line.local) if r is not None), 0)
        return told if told < MAX_RANKS else 0

    def _where(self, line: Line) -> str:
        return self._node or line.host or self._this_node
