"""A training log, line by line, as steps and events."""

import re
from datetime import tzinfo

from collectors.contract.job import JobEvent
from collectors.training_log.clock import Clock
from collectors.training_log.fact import Began, Stepped
from collectors.training_log.forms import FORMS
from collectors.training_log.kept import Kept
from collectors.training_log.line import Line, read_lines
from collectors.training_log.messages import Messages, Row
from collectors.training_log.story import Story
from collectors.training_log.straggler import Straggler
from collectors.training_log.trouble import Trouble

_WORTH_READING = re.compile(
    # Steps, bars and blocks; what is told of saves, starts, ends and the model; troubles and straggler reports.
    r"iteration|step[:=]|it/s|s/it|\d<|\{'|\]:|Train |Eval |[Cc]heckpoint|[Tt]rain|Start|Build|Restoring|Done\.|"
    r" \.\.\.|_size|world size|across ranks|exiting|billions|total parameters|parameter count|"
    r"optimization steps|Initializ|Traceback|exitcode|restart worker|\*\*\*|srun: |return code|"
    r"Rnk: |STRAGGLER|performance|performing|Rank="
)


class TrainingLog:
    """Lines in, rows and events out. No clock, no file.

    `form` None finds out whose log it is. Lines without a time that did not come just now are counted on from
    `since_us` by the durations that were printed; `walked` says so, where no line has a time.
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
        self._zone = zone
        self.kept = kept or Kept(form=form, attempt=attempt, clock_us=since_us)
        self._clock = Clock(self.kept)
        self._messages = Messages(cluster, job, self.kept, self._clock)
        self._story = Story(
            self.kept, self._clock, self._messages, this_node=this_node, node=node, rank=rank, walked=walked
        )
        names = [form] if form is not None else list(FORMS)
        self._forms = {name: FORMS[name](self.kept.told, form is not None) for name in names}
        self._choose(self.kept.form)
        self._trouble = Trouble()
        self._straggler = Straggler()

    @property
    def form(self) -> str | None:
        """Whose log it is; None: not known yet."""
        return self.kept.form

    def read(self, raw: bytes, arrived_us: int | None = None) -> list[Row | JobEvent]:
        """What one raw line says. `arrived_us` is given for a line that was written just now."""
        for line in read_lines(raw, self._zone, self.kept.clock_us):
            self._clock.line(arrived_us if line.ts_us is None else line.ts_us)
            self._line(line)
        return self._messages.take()

    def rest(self, now_us: int | None = None) -> list[Row | JobEvent]:
        """What was held back for lines that did not come; with `now_us`, what may still come is waited for."""
        if now_us is None:
            for form in list(self._forms.values()):
                for fact in form.rest():
                    self._story.tell(fact, Line(""))
            for note in self._straggler.rest():
                self._story.tell(note, Line(""))
        self._story.quiet(now_us)
        return self._messages.take()

    def _line(self, line: Line) -> None:
        if not (self._trouble.open or _WORTH_READING.search(line.text)):
            return
        for fact in (*self._trouble.read(line), *self._straggler.read(line)):
            self._story.tell(fact, line)
        for name, form in list(self._forms.items()):
            for fact in form.read(line):
                if isinstance(fact, Stepped) and name != self.kept.form:
                    self._choose(name)
                if name == self.kept.form or isinstance(fact, Began):
                    self._story.tell(fact, line)
            if name == self.kept.form:
                break
        self._story.learn()

    def _choose(self, name: str | None) -> None:
        """Forms that say less than the chosen one are heard no more."""
        if name is None:
            return
        self.kept.form = name
        last = list(FORMS).index(name)
        self._forms = {key: form for i, key in enumerate(FORMS) if i <= last and (form := self._forms.get(key))}
