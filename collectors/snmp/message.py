"""The envelope of every version: enough of it to know whose answer a datagram is."""

from collectors.snmp.ber import SEQUENCE, BerError, content, header, integer, octets

V2C, V3 = 1, 3


def ident(raw: bytes) -> int:
    """The number by which an answer is known: the request id of v2c, the message id of v3. Raises `BerError`."""
    at, stop = content(raw, 0, len(raw), SEQUENCE)
    version, at = integer(raw, at, stop)
    if version == V3:
        at, stop = content(raw, at, stop, SEQUENCE)
    elif version == V2C:
        _, at = octets(raw, at, stop)
        _, at, stop = header(raw, at, stop)
    else:
        raise BerError(f"SNMP version {version}, neither v2c nor v3")
    return integer(raw, at, stop)[0]
