"""One agent: questions and answers, whatever the version; tables walked, late answers and Reports dealt with."""

from collections.abc import Sequence
from typing import Protocol

from collectors.snmp import oid
from collectors.snmp.ber import BerError
from collectors.snmp.pdu import TOO_BIG, Answer, Request, get, get_bulk
from collectors.snmp.post import Address, NoAnswer, Post
from collectors.snmp.reports import NOT_IN_TIME, UNKNOWN_ENGINE, Reported
from collectors.snmp.usm import Usm
from collectors.snmp.value import Absent, Varbind, read_varbinds

LEAST_VARBINDS = 8
AT_ONCE = 8
"""Columns walked together."""
MOST_VALUES = 500_000
"""Of one walk: 512 ports with 10 queues of 8 counters are 41,000. An agent that goes on and on is not believed."""


class AgentError(Exception):
    """What an agent did not do, in words for a person."""


class Silent(AgentError):
    """No answer came."""


class Security(Protocol):
    """How messages of one agent are wrapped."""

    ready: bool

    def wrap(self, request: Request, number: int, /) -> bytes:
        """The datagram of a request."""

    def unwrap(self, raw: bytes, /) -> Answer:
        """What a datagram answers. Raises `BerError` and `Reported`."""


class Agent:
    """`varbinds` is the most asked in a request; it falls when the agent shows that it answers fewer."""

    def __init__(
        self,
        post: Post,
        address: Address,
        security: Security,
        *,
        timeout_s: float = 2.0,
        tries: int = 3,
        varbinds: int = 100,
    ) -> None:
        self.address = address
        self.most = self.varbinds = varbinds
        self.answered = 0
        self.bytes = 0
        """Of answers so far."""
        self.heard = False
        """It has answered a question, not only told who it is."""
        self.odd: dict[str, str] = {}
        """Column -> what is wrong with it."""
        self._post = post
        self._security = security
        self._timeout_s = timeout_s
        self._tries = tries

    async def ask(self, request: Request) -> Answer:
        """One question, one answer. Raises `AgentError`."""
        try:
            if not self._security.ready:
                await self._meet()
            try:
                return await self._once(request)
            except Reported as why:
                if why.name not in (NOT_IN_TIME, UNKNOWN_ENGINE):
                    raise
                # A restart of the agent: its Report told its boots and time, or its new engine id.
                return await self._once(request)
        except Reported as why:
            raise AgentError(str(why)) from why
        except BerError as why:
            raise AgentError(f"an answer that cannot be read: {why}") from why
        except NoAnswer as why:
            raise Silent(f"{why}{self._advice()}") from why

    async def get(self, names: Sequence[bytes]) -> list[Varbind]:
        """Exactly these instances, in pieces where the agent answers no more at once. Raises `AgentError`."""
        out: list[Varbind] = []
        at = 0
        while at < len(names):
            piece = names[at : at + self.varbinds]
            answer = await self.ask(get(piece))
            if answer.status == TOO_BIG and self.shrink():
                continue
            if answer.error is not None:
                raise AgentError(f"the agent answers {answer.error}")
            out += _varbinds(answer)
            at += len(piece)
        return out

    async def walk(self, columns: Sequence[bytes]) -> dict[bytes, list[Varbind]]:
        """All instances of these columns. One that goes in circles, or that the agent cannot read, ends there.

        Which and why is in `odd`. Raises `AgentError`.
        """
        out: dict[bytes, list[Varbind]] = {column: [] for column in columns}
        waiting = list(columns)
        at: dict[bytes, bytes] = {}
        while waiting or at:
            while waiting and len(at) < AT_ONCE:
                column = waiting.pop(0)
                at[column] = column
            await self._step(out, at)
            if sum(map(len, out.values())) > MOST_VALUES:
                raise AgentError(f"the agent's tables have no end; {MOST_VALUES} values came")
        return out

    def shrink(self) -> bool:
        """Ask for fewer at once; False when it is few already."""
        if self.varbinds <= LEAST_VARBINDS:
            return False
        self.varbinds = max(LEAST_VARBINDS, self.varbinds // 2)
        return True

    async def _step(self, out: dict[bytes, list[Varbind]], at: dict[bytes, bytes]) -> None:
        """One GETBULK: every column goes on from its own last name, for an answer may end anywhere."""
        columns = list(at)
        try:
            answer = await self.ask(get_bulk(list(at.values()), max(1, self.varbinds // len(columns))))
        except Silent:
            # Answers of many varbinds come in fragments, which some networks drop.
            if self.heard and self.shrink():
                return
            raise
        if answer.status == TOO_BIG and self.shrink():
            return
        if answer.error is not None:
            if not 0 < answer.index <= len(columns):
                raise AgentError(f"the agent answers {answer.error}")
            self._end(at, columns[answer.index - 1], f"the agent answers {answer.error}")
            return
        found = _varbinds(answer)
        if not found:
            raise AgentError("the agent answers GETBULK with nothing")
        for number, varbind in enumerate(found):
            column = columns[number % len(columns)]
            if column not in at:
                continue
            if not varbind.name.startswith(column) or isinstance(varbind.value, Absent):
                del at[column]
                continue
            if oid.unpack(varbind.name) <= oid.unpack(at[column]):
                self._end(at, column, f"the agent's answers go in circles at {oid.text(varbind.name)}")
                continue
            at[column] = varbind.name
            out[column].append(varbind)

    def _end(self, at: dict[bytes, bytes], column: bytes, why: str) -> None:
        del at[column]
        self.odd[oid.text(column)] = why

    def _advice(self) -> str:
        """Agents do not answer who they do not know; what has answered before is just away."""
        if self.heard:
            return ""
        if isinstance(self._security, Usm) and self._security.ready:
            return "; its engine answered: what it cannot decrypt it drops, so the privacy password may be wrong"
        if isinstance(self._security, Usm):
            return "; is SNMP on there, and is this host let in?"
        return "; is SNMP on there, is this host let in, and is it the right community?"

    async def _meet(self) -> None:
        assert isinstance(self._security, Usm)
        number = self._post.number()
        raw = await self._send(number, self._security.hello(number))
        try:
            self._security.unwrap(raw)
        except Reported:
            if not self._security.ready:
                raise

    async def _once(self, request: Request) -> Answer:
        number = self._post.number()
        raw = await self._send(number, self._security.wrap(request, number))
        answer = self._security.unwrap(raw)
        self.heard = True
        if answer.request_id != number:
            raise BerError(f"request id {answer.request_id} in an answer to {number}")
        return answer

    async def _send(self, number: int, datagram: bytes) -> bytes:
        raw = await self._post.ask(self.address, number, datagram, timeout_s=self._timeout_s, tries=self._tries)
        self.answered += 1
        self.bytes += len(raw)
        return raw


def _varbinds(answer: Answer) -> list[Varbind]:
    try:
        return read_varbinds(answer.raw, answer.start, answer.stop)
    except BerError as why:
        raise AgentError(f"an answer that cannot be read: {why}") from why
