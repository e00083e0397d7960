"""v3 (RFC 3412, 3414): one user at one engine; messages are authenticated and, where wanted, encrypted."""

import hmac
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from secrets import randbits

from collectors.snmp.ber import OCTETS, SEQUENCE, BerError, content, element, integer, number, octets
from collectors.snmp.message import V3
from collectors.snmp.pdu import REPORT, Answer, Request, get, read_pdu
from collectors.snmp.reports import NOT_IN_TIME, UNKNOWN_ENGINE, reported
from collectors.snmp.usm_cipher import Privacy, PrivProtocol, privacy_key
from collectors.snmp.usm_keys import AuthProtocol, localised, master_key
from collectors.snmp.value import read_varbinds

LARGEST = 65507
"""The largest UDP payload over IPv4: what we can take."""
WINDOW_S = 150
"""How far a message's time may be off (RFC 3414, 2.2.3)."""
_AUTH, _PRIV, _REPORTABLE = 1, 2, 4
_USM = 3


@dataclass(frozen=True, slots=True)
class User:
    """Who asks. Without `auth` nothing is authenticated, without `priv` nothing encrypted."""

    name: str
    auth: AuthProtocol | None = None
    auth_password: str = field(default="", repr=False)
    priv: PrivProtocol | None = None
    priv_password: str = field(default="", repr=False)
    context: str = ""


@dataclass(frozen=True, slots=True)
class _Envelope:
    """A message taken apart down to its scoped PDU."""

    flags: int
    engine: bytes
    boots: int
    time_s: int
    tag_at: int
    tag: bytes
    salt: bytes
    at: int
    stop: int


class Usm:
    """A user's messages to one agent, whose engine is learned from its first answer."""

    def __init__(self, user: User, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._user = user
        self._clock = clock
        self.ready = False
        self.engine = b""
        self.boots = 0
        self._time_s, self._heard_s = 0, 0.0
        self._auth_key = b""
        self._privacy: Privacy | None = None

    def hello(self, message_id: int) -> bytes:
        """Ask who the engine is (RFC 3414, section 4): the answer is a Report."""
        return self._message(message_id, b"", b"", _REPORTABLE, get(()).write(message_id))

    def wrap(self, request: Request, message_id: int) -> bytes:
        """The datagram of a request."""
        flags = _REPORTABLE | (_AUTH if self._user.auth else 0) | (_PRIV if self._user.priv else 0)
        return self._message(message_id, self.engine, self._user.name.encode(), flags, request.write(message_id))

    def unwrap(self, raw: bytes) -> Answer:
        """What a datagram answers. Raises `BerError`, and `Reported` for a Report."""
        found = _open(raw)
        if found.flags & _AUTH:
            self._check(raw, found)
        plain, at, stop = raw, found.at, found.stop
        if found.flags & _PRIV:
            plain, at, stop = self._decrypted(raw, found)
        answer = read_pdu(plain, *_scoped(plain, at, stop))
        if answer.kind == REPORT:
            self._reported(answer, found)
        if found.flags & _AUTH:
            self._follow(found)
        if found.flags & (_AUTH | _PRIV) != (_AUTH if self._user.auth else 0) | (_PRIV if self._user.priv else 0):
            raise BerError("an answer of another security level than the question")
        return answer

    def _reported(self, answer: Answer, found: _Envelope) -> None:
        binds = read_varbinds(answer.raw, answer.start, answer.stop)
        if not binds:
            raise BerError("a Report that says nothing")
        why = reported(binds[0].name)
        if found.engine and (why.name == UNKNOWN_ENGINE or not self.ready):
            self._meet(found)
        elif why.name == NOT_IN_TIME and found.flags & _AUTH:
            # Whatever it was before: this answers our own message id, so nobody plays back an old one.
            self._hear(found)
        raise why

    def forget(self) -> None:
        """The engine has to be asked again who it is."""
        self.ready = False

    def _meet(self, found: _Envelope) -> None:
        self.ready = True
        self._hear(found)
        if found.engine == self.engine and self._auth_key:
            return
        self.engine = found.engine
        user = self._user
        if user.auth is not None:
            master = master_key(user.auth.hash, user.auth_password.encode())
            self._auth_key = localised(user.auth.hash, master, self.engine)
            if user.priv is not None:
                secret = master_key(user.auth.hash, user.priv_password.encode())
                key = privacy_key(user.priv, user.auth.hash, secret, self.engine)
                self._privacy = Privacy(user.priv, key, randbits(64))

    def _hear(self, found: _Envelope) -> None:
        self.boots, self._time_s, self._heard_s = found.boots, found.time_s, self._clock()

    def _now_s(self) -> int:
        return self._time_s + int(self._clock() - self._heard_s)

    def _message(self, message_id: int, engine: bytes, user: bytes, flags: int, pdu: bytes) -> bytes:
        auth, boots, time_s = self._user.auth, self.boots if engine else 0, self._now_s() if engine else 0
        scoped = element(SEQUENCE, element(OCTETS, engine), element(OCTETS, self._user.context.encode()), pdu)
        salt = b""
        if flags & _PRIV and self._privacy is not None:
            scoped, salt = self._privacy.encrypt(scoped, boots, time_s)
            scoped = element(OCTETS, scoped)
        tag = bytes(auth.tag_bytes) if flags & _AUTH and auth is not None else b""
        behind = element(OCTETS, salt)
        security = element(
            SEQUENCE,
            *(element(OCTETS, engine), number(boots), number(time_s), element(OCTETS, user)),
            *(element(OCTETS, tag), behind),
        )
        head = element(SEQUENCE, number(message_id), number(LARGEST), element(OCTETS, bytes((flags,))), number(_USM))
        whole = element(SEQUENCE, number(V3), head, element(OCTETS, security), scoped)
        if not tag or auth is None:
            return whole
        end = len(whole) - len(scoped) - len(behind)
        made = hmac.digest(self._auth_key, whole, auth.hash)[: auth.tag_bytes]
        return whole[: end - len(tag)] + made + whole[end:]

    def _check(self, raw: bytes, found: _Envelope) -> None:
        """Is it from who it says? Raises `BerError`."""
        auth = self._user.auth
        if auth is None or not self._auth_key:
            raise BerError("an authenticated answer to a question that was not")
        if found.engine != self.engine:
            raise BerError("an answer of another engine")
        end = found.tag_at + len(found.tag)
        zeroed = raw[: found.tag_at] + bytes(len(found.tag)) + raw[end:]
        made = hmac.digest(self._auth_key, zeroed, auth.hash)[: auth.tag_bytes]
        if not hmac.compare_digest(made, found.tag):
            raise BerError("an answer whose digest is wrong")

    def _follow(self, found: _Envelope) -> None:
        """Is it of now? Its clock is ours from here on. Raises `BerError`."""
        late = self._now_s() - found.time_s
        if found.boots < self.boots or (found.boots == self.boots and late > WINDOW_S):
            raise BerError(f"an answer from {late} s ago")
        if found.boots > self.boots or found.time_s > self._time_s:
            self._hear(found)

    def _decrypted(self, raw: bytes, found: _Envelope) -> tuple[bytes, int, int]:
        if self._privacy is None or not found.flags & _AUTH:
            raise BerError("an encrypted answer to a question that was not")
        held, _ = octets(raw, found.at, found.stop)
        plain = self._privacy.decrypt(held, found.salt, found.boots, found.time_s)
        return plain, 0, len(plain)


def _open(raw: bytes) -> _Envelope:
    at, stop = content(raw, 0, len(raw), SEQUENCE)
    version, at = integer(raw, at, stop)
    if version != V3:
        raise BerError(f"an answer of version {version} to a question in v3")
    head_at, head_stop = content(raw, at, stop, SEQUENCE)
    _, head_at = integer(raw, head_at, head_stop)
    _, head_at = integer(raw, head_at, head_stop)
    flags, head_at = octets(raw, head_at, head_stop)
    model, _ = integer(raw, head_at, head_stop)
    if model != _USM or len(flags) != 1:
        raise BerError(f"security model {model}, not that of users")
    at, security_stop = content(raw, head_stop, stop, OCTETS)
    at, inner = content(raw, at, security_stop, SEQUENCE)
    engine, at = octets(raw, at, inner)
    boots, at = integer(raw, at, inner)
    time_s, at = integer(raw, at, inner)
    _, at = octets(raw, at, inner)
    tag, at = octets(raw, at, inner)
    tag_at = at - len(tag)
    salt, _ = octets(raw, at, inner)
    if not 0 <= boots < 1 << 31 or not 0 <= time_s < 1 << 31 or len(engine) > 32:
        raise BerError("security parameters that cannot be")
    return _Envelope(flags[0], engine, boots, time_s, tag_at, tag, salt, security_stop, stop)


def _scoped(plain: bytes, at: int, stop: int) -> tuple[int, int]:
    """Where the PDU stands; what follows it is padding."""
    at, stop = content(plain, at, stop, SEQUENCE)
    _, at = octets(plain, at, stop)
    _, at = octets(plain, at, stop)
    return at, stop
