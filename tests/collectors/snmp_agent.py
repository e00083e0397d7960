"""An SNMP agent to be asked: a table of values, and whatever a real one may do wrong."""

import asyncio
import bisect
import hmac
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

from collectors.snmp import oid
from collectors.snmp.ber import OCTETS, OID, SEQUENCE, BerError, content, element, header, integer, number, octets
from collectors.snmp.pdu import GET, GETBULK, REPORT, RESPONSE
from collectors.snmp.usm import User
from collectors.snmp.usm_cipher import Privacy, privacy_key
from collectors.snmp.usm_keys import localised, master_key
from collectors.snmp.value import COUNTER32, COUNTER64, GAUGE32, TIME_TICKS

INSTANCE, END = b"\x81\x00", b"\x82\x00"
ENGINE = bytes.fromhex("80001f8880aabbccdd")


def counter64(value: int) -> bytes:
    return element(COUNTER64, _unsigned(value))


def counter32(value: int) -> bytes:
    return element(COUNTER32, _unsigned(value))


def gauge32(value: int) -> bytes:
    return element(GAUGE32, _unsigned(value))


def ticks(value: int) -> bytes:
    return element(TIME_TICKS, _unsigned(value))


def whole(value: int) -> bytes:
    return number(value)


def text(value: str | bytes) -> bytes:
    return element(OCTETS, value.encode() if isinstance(value, str) else value)


def name(dotted: str) -> bytes:
    return element(OID, oid.encode(dotted))


def _unsigned(value: int) -> bytes:
    return value.to_bytes(value.bit_length() // 8 + 1)


@dataclass
class Agent:
    """`values`: dotted name -> an encoded value. The other fields are its faults."""

    values: dict[str, bytes]
    most: int = 100
    """Varbinds of an answer, as net-snmp has it."""
    too_big: int | None = None
    """More varbinds than this are answered with tooBig and nothing else."""
    silent: Callable[[int], bool] = lambda number: False
    """Whether the datagram of that number, from 0, gets no answer."""
    mangle: Callable[[bytes], list[bytes]] = lambda answer: [answer]
    """What is sent in place of an answer."""
    asked: list[bytes] = field(default_factory=list)
    sent: int = 0
    """Bytes of all answers."""
    _names: list[oid.Numbers] = field(default_factory=list)
    _held: dict[oid.Numbers, tuple[bytes, bytes]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.fill(self.values)

    def fill(self, values: dict[str, bytes]) -> None:
        """Other values from now on."""
        self._held = {
            tuple(map(int, dotted.split("."))): (oid.encode(dotted), value) for dotted, value in values.items()
        }
        self._names = sorted(self._held)

    def answer(self, raw: bytes) -> list[bytes]:
        """The datagrams that follow on one."""
        self.asked.append(raw)
        if self.silent(len(self.asked) - 1):
            return []
        at, stop = content(raw, 0, len(raw), SEQUENCE)
        version, at = integer(raw, at, stop)
        community, at = octets(raw, at, stop)
        answer = element(SEQUENCE, number(version), element(OCTETS, community), self.respond(raw, at, stop))
        return self.mangle(answer)

    def respond(self, raw: bytes, at: int, stop: int) -> bytes:
        """The answer to one PDU."""
        kind, at, stop = header(raw, at, stop)
        request, at = integer(raw, at, stop)
        _, at = integer(raw, at, stop)
        repetitions, at = integer(raw, at, stop)
        at, stop = content(raw, at, stop, SEQUENCE)
        wanted: list[oid.Numbers] = []
        while at < stop:
            start, at = content(raw, at, stop, SEQUENCE)
            name_at, name_end = content(raw, start, at, OID)
            wanted.append(oid.unpack(raw[name_at:name_end]))
        binds = self._get(wanted) if kind == GET else self._bulk(wanted, repetitions if kind == GETBULK else 1)
        if self.too_big is not None and len(binds) > self.too_big:
            return response(request, 1, [])
        return response(request, 0, binds)

    def _get(self, wanted: list[oid.Numbers]) -> list[bytes]:
        return [_bind(*self._held.get(numbers, (oid.pack(numbers), INSTANCE))) for numbers in wanted]

    def _bulk(self, wanted: list[oid.Numbers], repetitions: int) -> list[bytes]:
        out: list[bytes] = []
        last = list(wanted)
        for _ in range(repetitions):
            for column, numbers in enumerate(last):
                if len(out) >= self.most:
                    return out
                at = bisect.bisect_right(self._names, numbers)
                if at == len(self._names):
                    out.append(_bind(oid.pack(numbers), END))
                else:
                    last[column] = self._names[at]
                    out.append(_bind(*self._held[last[column]]))
        return out


def response(request: int, status: int, binds: list[bytes], kind: int = RESPONSE) -> bytes:
    return element(kind, number(request), number(status), number(0), element(SEQUENCE, *binds))


def _request_id(raw: bytes, at: int, stop: int) -> int:
    """Of a scoped PDU; 0 for one that is encrypted."""
    try:
        at, stop = content(raw, at, stop, SEQUENCE)
    except BerError:
        return 0
    _, at = octets(raw, at, stop)
    _, at = octets(raw, at, stop)
    _, at, stop = header(raw, at, stop)
    return integer(raw, at, stop)[0]


def _bind(encoded: bytes, value: bytes) -> bytes:
    return element(SEQUENCE, element(OID, encoded), value)


@dataclass
class UserAgent(Agent):
    """The same behind v3: one user, an engine, and the Reports of RFC 3414."""

    user: User = User("nobody")  # noqa: RUF009 (frozen)
    engine: bytes = ENGINE
    boots: int = 3
    time_s: int = 1000
    window_s: int = 150
    reports: list[str] = field(default_factory=list)

    def answer(self, raw: bytes) -> list[bytes]:
        """As in `Agent`."""
        self.asked.append(raw)
        if self.silent(len(self.asked) - 1):
            return []
        at, stop = content(raw, 0, len(raw), SEQUENCE)
        _, at = integer(raw, at, stop)
        head, head_stop = content(raw, at, stop, SEQUENCE)
        message, head = integer(raw, head, head_stop)
        _, head = integer(raw, head, head_stop)
        flags, _ = octets(raw, head, head_stop)
        security, at = octets(raw, head_stop, stop)
        inner, inner_stop = content(security, 0, len(security), SEQUENCE)
        engine, inner = octets(security, inner, inner_stop)
        boots, inner = integer(security, inner, inner_stop)
        time_s, inner = integer(security, inner, inner_stop)
        user, inner = octets(security, inner, inner_stop)
        tag, inner = octets(security, inner, inner_stop)
        salt, _ = octets(security, inner, inner_stop)
        if engine != self.engine:
            return self._report(message, 4, flags=0, user=user, request=_request_id(raw, at, stop))
        if user.decode() != self.user.name:
            return self._report(message, 3, flags=0, user=user)
        if tag and tag != self._tag(raw.replace(tag, bytes(len(tag)), 1)):
            return self._report(message, 5, flags=0)
        if tag and (boots != self.boots or abs(time_s - self.time_s) > self.window_s):
            return self._report(message, 2, flags=1)
        scoped = raw[at:stop]
        if flags[0] & 2:
            held, _ = octets(raw, at, stop)
            scoped = self._privacy().decrypt(held, salt, boots, time_s)
        at, stop = content(scoped, 0, len(scoped), SEQUENCE)
        _, at = octets(scoped, at, stop)
        _, at = octets(scoped, at, stop)
        return self.mangle(self._message(message, flags[0] & 3, self.respond(scoped, at, stop)))

    def _report(self, message: int, which: int, flags: int, request: int = 0, user: bytes | None = None) -> list[bytes]:
        self.reports.append(str(which))
        bind = _bind(oid.encode(f"1.3.6.1.6.3.15.1.1.{which}.0"), counter32(1))
        return self.mangle(self._message(message, flags, response(request, 0, [bind], REPORT), user))

    def _message(self, message: int, flags: int, pdu: bytes, user: bytes | None = None) -> bytes:
        scoped, salt = element(SEQUENCE, element(OCTETS, self.engine), element(OCTETS, b""), pdu), b""
        if flags & 2:
            held, salt = self._privacy().encrypt(scoped, self.boots, self.time_s)
            scoped = element(OCTETS, held)
        size = self.user.auth.tag_bytes if flags & 1 and self.user.auth else 0
        mark = b"\xa5" * size

        def whole_of(tag: bytes) -> bytes:
            security = element(
                SEQUENCE,
                *(element(OCTETS, self.engine), number(self.boots), number(self.time_s)),
                *(element(OCTETS, self.user.name.encode() if user is None else user), element(OCTETS, tag)),
                element(OCTETS, salt),
            )
            head = element(SEQUENCE, number(message), number(65507), element(OCTETS, bytes((flags,))), number(3))
            return element(SEQUENCE, number(3), head, element(OCTETS, security), scoped)

        return whole_of(self._tag(whole_of(bytes(size)))) if mark else whole_of(b"")

    def _tag(self, zeroed: bytes) -> bytes:
        auth = self.user.auth
        assert auth is not None
        key = localised(auth.hash, master_key(auth.hash, self.user.auth_password.encode()), self.engine)
        return hmac.digest(key, zeroed, auth.hash)[: auth.tag_bytes]

    def _privacy(self) -> Privacy:
        auth, priv = self.user.auth, self.user.priv
        assert auth is not None and priv is not None
        secret = master_key(auth.hash, self.user.priv_password.encode())
        return Privacy(priv, privacy_key(priv, auth.hash, secret, self.engine), 7)


class _Server(asyncio.DatagramProtocol):
    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str | object, int]) -> None:
        assert self._transport is not None
        for answer in self._agent.answer(data):
            self._agent.sent += len(answer)
            self._transport.sendto(answer, addr)


async def serve(agent: Agent) -> tuple[str, int, Callable[[], None]]:
    """Answer on a free port of loopback: host, port, and what ends it."""
    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: _Server(agent), local_addr=("127.0.0.1", 0)
    )
    host, port = transport.get_extra_info("sockname")
    return host, port, transport.close


def switch(
    ports: int = 4,
    *,
    first_index: int = 1,
    grown: int = 0,
    uptime: int = 100_000,
    changed: int = 5,
    priorities: int = 0,
    high: bool = True,
) -> dict[str, bytes]:
    """The tables of a switch: loopback first, then Ethernet1 to EthernetN. Counters are the port's number + `grown`."""
    out = {
        "1.3.6.1.2.1.1.3.0": ticks(uptime),
        "1.3.6.1.2.1.1.5.0": text("leaf1"),
        "1.3.6.1.2.1.2.1.0": whole(ports + 1),
        "1.3.6.1.2.1.31.1.5.0": ticks(changed),
    }
    rows = [(first_index, "Loopback0", 24, 0)] + [(first_index + n, f"Ethernet{n}", 6, n) for n in range(1, ports + 1)]
    for index, called, kind, n in rows:
        out |= {
            f"1.3.6.1.2.1.2.2.1.2.{index}": text(called),
            f"1.3.6.1.2.1.2.2.1.3.{index}": whole(kind),
            f"1.3.6.1.2.1.2.2.1.8.{index}": whole(1),
            f"1.3.6.1.2.1.31.1.1.1.1.{index}": text(called),
            f"1.3.6.1.2.1.31.1.1.1.15.{index}": gauge32(400_000),
            f"1.3.6.1.2.1.31.1.1.1.19.{index}": ticks(0),
        }
        for column in (13, 14, 15, 19, 20):
            out[f"1.3.6.1.2.1.2.2.1.{column}.{index}"] = counter32(n + grown)
        if high:
            for column in range(6, 14):
                out[f"1.3.6.1.2.1.31.1.1.1.{column}.{index}"] = counter64((n << 33) + grown)
        if not n:
            continue
        for column in (2, 3, 10, 13, 16, 18):
            out[f"1.3.6.1.2.1.10.7.2.1.{column}.{index}"] = counter32(n + grown)
        for column in range(1, 7):
            if high:
                out[f"1.3.6.1.2.1.10.7.11.1.{column}.{index}"] = counter64((n << 33) + grown)
        for priority in range(priorities):
            for column in (3, 4, 5, 6):
                out[f"1.3.6.1.4.1.33049.15.1.2.1.{column}.{index}.{priority}"] = counter64(n + priority + grown)
            for column in (3, 4, 5, 6, 7):
                out[f"1.3.6.1.4.1.33049.15.1.3.1.{column}.{index}.{priority}"] = counter64(n + priority + grown)
    return out
