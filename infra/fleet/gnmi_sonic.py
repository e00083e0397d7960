"""Notifications of a SONiC switch: one JSON value for each virtual path that was asked for."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

import msgspec

from collectors.fabric.vocabulary import canonicals
from collectors.gnmi import wire
from collectors.gnmi.path import GnmiPath, write_path
from infra.fleet.gnmi_switch import Readings, Switch, sonic_field

_STATES = {"pfcwd_state": ("operational", "stormed"), "pfcwd_action": ("drop", "forward", "alert")}
Fields = dict[str, str]


class SonicFrames:
    """The messages that show `wanted` virtual paths of one switch."""

    def __init__(self, switch: Switch, wanted: Sequence[GnmiPath], prefix: GnmiPath) -> None:
        self._switch = switch
        self._wanted = wanted
        self._prefix = write_path(GnmiPath(target=prefix.target or "COUNTERS_DB"))

    def render(self, ts_ns: int, readings: Readings) -> list[bytes]:
        """One sample; a path that is not there is silent."""
        out = []
        for path in self._wanted:
            found = self._found(path, readings)
            if found is None:
                continue
            response = wire.SubscribeResponse()
            response.update.timestamp = ts_ns
            response.update.prefix = self._prefix
            added = response.update.update.add(path=write_path(GnmiPath(path.elems)))
            added.val.json_ietf_val = msgspec.json.encode(found)
            out.append(response.SerializeToString())
        return out

    def _found(self, path: GnmiPath, readings: Readings) -> Fields | dict[str, Fields] | None:
        names = [e.name for e in path.elems]
        if len(names) < 2 or names[0] not in ("COUNTERS", "PERIODIC_WATERMARKS"):
            return None
        ports = [n for n, port in enumerate(self._switch.ports) if fnmatchcase(port, names[1])]
        part = names[2] if len(names) > 2 else ""
        if part == "Queues":
            return self._by_index(readings, ports, ("queue",), "")
        if part == "Pfcwd":
            return self._by_index(readings, ports, ("queue",), "pfcwd_")
        if part == "PriorityGroups":
            return self._by_index(readings, ports, ("pg",), "")
        fields = self._by_port(readings, ports, part)
        if "*" not in names[1]:
            return next(iter(fields.values()), None)
        return fields

    def _by_port(self, readings: Readings, ports: Sequence[int], only: str) -> dict[str, Fields]:
        fields: dict[str, Fields] = {self._switch.ports[n]: {} for n in ports}
        for canonical, column in readings.items():
            name = sonic_field(canonical)
            if name is None or _scope(canonical) not in ("port", "priority") or (only and name != only):
                continue
            for n in ports:
                if (value := column[n]) is not None:
                    fields[self._switch.ports[n]][name] = str(value)
        return fields

    def _by_index(
        self, readings: Readings, ports: Sequence[int], scopes: Sequence[str], start: str
    ) -> dict[str, Fields]:
        fields: dict[str, Fields] = {}
        for canonical, column in readings.items():
            base, _, index = canonical.partition(".")
            name = sonic_field(canonical)
            if name is None or _scope(canonical) not in scopes or not base.startswith(start):
                continue
            words = _STATES.get(base)
            for n in ports:
                if (value := column[n]) is not None:
                    held = fields.setdefault(f"{self._switch.ports[n]}:{index}", {})
                    held[name] = str(value) if words is None else words[value]
        return fields


def _scope(canonical: str) -> str:
    return canonicals()[canonical.partition(".")[0]].scope
