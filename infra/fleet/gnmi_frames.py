"""Notifications of an OpenConfig switch: built once, the numbers set in place at each sample.

Building a message costs some ten times what setting its numbers and serialising does, and the leaves of a
switch do not change from one second to the next.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from collectors.gnmi import wire
from collectors.gnmi.mapping import covers
from collectors.gnmi.path import Elem, GnmiPath, write_path
from infra.fleet.gnmi_switch import Readings, Switch, leaf_path

_SCALED = {"pfc_rx_pause_us": ("pfc_rx_pause_ns", 1000)}
"""Arista counts pause in nanoseconds; a model in microseconds is shown so."""
_ROOT_ELEMS = {"interfaces": 2, "qos": 3, "lldp": 3}
"""Path elements up to the port."""


@dataclass(slots=True)
class _Counted:
    """One counter: the places where its values stand, parallel to the ports."""

    canonical: str
    scale: int
    values: list[tuple[int, Any]] = field(default_factory=list)


class Frames:
    """The messages that show `wanted` paths of one switch."""

    def __init__(self, switch: Switch, wanted: Sequence[GnmiPath], prefix: GnmiPath) -> None:
        self._switch = switch
        self._wanted = wanted
        self._target = prefix.target or switch.name
        self._absent: frozenset[tuple[str, int]] | None = None
        self._names: tuple[str, ...] = ()
        self._responses: dict[tuple[str, ...], Any] = {}
        self._counted: list[_Counted] = []
        self._keyed = any(value != "*" for path in wanted for e in path.elems for _, value in e.keys)

    def render(self, ts_ns: int, readings: Readings) -> list[bytes]:
        """One sample. What the model has as None is a leaf that is not there."""
        absent = frozenset(
            (name, port)
            for name, column in readings.items()
            if None in column
            for port, n in enumerate(column)
            if n is None
        )
        if absent != self._absent or self._names != tuple(readings):
            self._build(readings, absent)
        for counted in self._counted:
            column, scale = readings[counted.canonical], counted.scale
            for port, value in counted.values:
                value.uint_val = (column[port] or 0) * scale
        out = []
        for response in self._responses.values():
            response.update.timestamp = ts_ns
            out.append(response.SerializeToString())
        return out

    def texts(self, ts_ns: int, leaves: Iterable[tuple[GnmiPath, str | int]]) -> list[bytes]:
        """States as one notification; none where none is wanted."""
        response = wire.SubscribeResponse()
        response.update.timestamp = ts_ns
        response.update.prefix = write_path(GnmiPath(target=self._target))
        for path, told in leaves:
            if not self.wants(path):
                continue
            added = response.update.update.add(path=write_path(path))
            if isinstance(told, int):
                added.val.uint_val = told
            else:
                added.val.string_val = told.encode()
        return [response.SerializeToString()] if response.update.update else []

    def wants(self, path: GnmiPath) -> bool:
        """Whether a subscription covers a leaf."""
        return any(covers(wanted.elems, path.elems) for wanted in self._wanted)

    def _build(self, readings: Readings, absent: frozenset[tuple[str, int]]) -> None:
        self._absent, self._names = absent, tuple(readings)
        self._responses, self._counted = {}, []
        for canonical in readings:
            shown, scale = self._shown(canonical)
            counted = _Counted(canonical, scale)
            asked = None
            for number, port in enumerate(self._switch.ports):
                path = leaf_path(shown, port, self._switch.dialect)
                if path is None or (canonical, number) in absent:
                    continue
                if asked is None or self._keyed:  # without keys in the request all ports are alike
                    asked = self.wants(path)
                if not asked:
                    continue
                counted.values.append((number, self._place(path)))
            if counted.values:
                self._counted.append(counted)

    def _shown(self, canonical: str) -> tuple[str, int]:
        name, dot, index = canonical.partition(".")
        if self._switch.dialect == "arista" and name in _SCALED:
            shown, scale = _SCALED[name]
            return shown + dot + index, scale
        return canonical, 1

    def _place(self, path: GnmiPath) -> Any:
        """A new update in the notification that the switch's bundling puts it into; its value."""
        head, tail = self._split(path.elems)
        key = tuple(map(str, head)) if self._switch.bundle != "leaf" else (str(path),)
        response = self._responses.get(key)
        if response is None:
            response = self._responses[key] = wire.SubscribeResponse()
            response.update.prefix = write_path(GnmiPath(head, target=self._target))
        return response.update.update.add(path=_written(GnmiPath(tail))).val

    def _split(self, elems: tuple[Elem, ...]) -> tuple[tuple[Elem, ...], tuple[Elem, ...]]:
        if self._switch.bundle == "leaf":
            return (), elems
        up_to_port = _ROOT_ELEMS.get(elems[0].name, 1)
        cut = up_to_port if self._switch.bundle == "port" else up_to_port - 1
        return elems[:cut], elems[cut:]


def states(switch: Switch, readings: Readings) -> list[tuple[GnmiPath, str | int]]:
    """What is text, or changes seldom: operational status, speed, neighbours, boot time."""
    out: list[tuple[GnmiPath, str | int]] = []
    oper = readings.get("port_oper_state")
    for number, port in enumerate(switch.ports):
        here = (Elem("interfaces"), Elem("interface", (("name", port),)))
        up = oper is None or oper[number] == 1
        out.append((GnmiPath((*here, Elem("state"), Elem("oper-status"))), "UP" if up else "DOWN"))
        speed = GnmiPath((*here, Elem("ethernet"), Elem("state"), Elem("port-speed")))
        out.append((speed, f"SPEED_{switch.speed_gbps}GB"))
    for port, (system, far_port) in switch.neighbours.items():
        there = (
            Elem("lldp"),
            Elem("interfaces"),
            Elem("interface", (("name", port),)),
            Elem("neighbors"),
            Elem("neighbor", (("id", "1"),)),
            Elem("state"),
        )
        out.append((GnmiPath((*there, Elem("system-name"))), system))
        out.append((GnmiPath((*there, Elem("port-id"))), far_port))
    if switch.boot_ns:
        out.append((GnmiPath((Elem("system"), Elem("state"), Elem("boot-time"))), switch.boot_ns))
    return out


@lru_cache(maxsize=65536)
def _written(path: GnmiPath) -> bytes:
    return write_path(path)
