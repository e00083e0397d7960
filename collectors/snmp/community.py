"""v2c (RFC 1901): a community in plain text."""

from collectors.snmp.ber import OCTETS, SEQUENCE, BerError, content, element, integer, octets
from collectors.snmp.message import V2C
from collectors.snmp.pdu import REPORT, Answer, Request, read_pdu


class Community:
    """The envelope of one community. Whoever reads the wire reads it too."""

    ready = True
    """Nothing has to be learned before the first request."""

    def __init__(self, community: bytes) -> None:
        self._head = b"\x02\x01\x01" + element(OCTETS, community)

    def wrap(self, request: Request, number: int) -> bytes:
        """The datagram of a request."""
        return element(SEQUENCE, self._head, request.write(number))

    def unwrap(self, raw: bytes) -> Answer:
        """What a datagram answers. The community is not compared: some agents send another one back.

        Raises `BerError`.
        """
        at, stop = content(raw, 0, len(raw), SEQUENCE)
        version, at = integer(raw, at, stop)
        if version != V2C:
            raise BerError(f"an answer of version {version} to a question in v2c")
        _, at = octets(raw, at, stop)
        answer = read_pdu(raw, at, stop)
        if answer.kind == REPORT:
            raise BerError("a Report, which v2c does not have")
        return answer
