"""What is asked and what is answered (RFC 3416), without the envelope of a version."""

from collections.abc import Sequence
from dataclasses import dataclass

from collectors.snmp.ber import OID, SEQUENCE, BerError, content, element, header, integer, number

GET, GETNEXT, RESPONSE = 0xA0, 0xA1, 0xA2
GETBULK, REPORT = 0xA5, 0xA8
FIRST_ID, LAST_ID = 1 << 24, (1 << 31) - 1
"""Request ids of four bytes exactly: a prepared request is the same length whatever its id."""
TOO_BIG = 1
_ERRORS = (
    *("noError", "tooBig", "noSuchName", "badValue", "readOnly", "genErr", "noAccess", "wrongType", "wrongLength"),
    *("wrongEncoding", "wrongValue", "noCreation", "inconsistentValue", "resourceUnavailable", "commitFailed"),
    *("undoFailed", "authorizationError", "notWritable", "inconsistentName"),
)


@dataclass(frozen=True, slots=True)
class Request:
    """A request without its id, which each sending has anew."""

    kind: int
    after: bytes
    """Everything behind the id."""

    def write(self, request_id: int) -> bytes:
        """The bytes on the wire; ids from `FIRST_ID` to `LAST_ID`."""
        return element(self.kind, b"\x02\x04", request_id.to_bytes(4), self.after)


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back. The varbinds stand in `raw` from `start` to `stop`, not read yet."""

    kind: int
    request_id: int
    status: int
    index: int
    raw: bytes
    start: int
    stop: int

    @property
    def error(self) -> str | None:
        """The agent's word for an error."""
        if self.status == 0:
            return None
        return _ERRORS[self.status] if 0 < self.status < len(_ERRORS) else f"error {self.status}"


def get(names: Sequence[bytes]) -> Request:
    """Exactly these instances."""
    return _request(GET, 0, 0, names)


def get_bulk(names: Sequence[bytes], repetitions: int) -> Request:
    """What follows each of these names, so many times."""
    return _request(GETBULK, 0, repetitions, names)


def read_pdu(raw: bytes, at: int, end: int) -> Answer:
    """Raises `BerError`."""
    kind, at, stop = header(raw, at, end)
    if kind not in (RESPONSE, REPORT):
        raise BerError(f"a message of type 0x{kind:02x}, which is no answer")
    request_id, at = integer(raw, at, stop)
    status, at = integer(raw, at, stop)
    index, at = integer(raw, at, stop)
    start, stop = content(raw, at, stop, SEQUENCE)
    return Answer(kind, request_id, status, index, raw, start, stop)


def _request(kind: int, first: int, second: int, names: Sequence[bytes]) -> Request:
    binds = [element(SEQUENCE, element(OID, name), b"\x05\x00") for name in names]
    return Request(kind, number(first) + number(second) + element(SEQUENCE, *binds))
