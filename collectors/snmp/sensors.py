"""ENTITY-SENSOR-MIB: optics and temperatures -> rows, columns and units of ours."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from collectors.fabric.series import Every, Series
from collectors.snmp.mib import ALIAS, IF_INDEX, PHYSICAL, SENSOR
from collectors.snmp.presets import gauge
from collectors.snmp.tables import Tables, by_index, rows, words
from collectors.snmp.value import Value

AMPERES, WATTS, CELSIUS, CISCO_DBM = 5, 6, 8, 14
"""EntitySensorDataType; 14 is of CISCO-ENTITY-SENSOR-MIB."""
OK = 1
DARK_DBM = -40.0
"""No light at all: 0 W has no dBm; the least that a module can tell is 0.1 uW (SFF-8472)."""
_UNITS_SCALE = 9
_DEEPEST = 12
"""Parts inside parts; one that contains itself is left after so many."""
_KINDS = (
    (re.compile(r"\b(rx|receive|input)\b.*\bpower\b", re.IGNORECASE), "optic_rx_power"),
    (re.compile(r"\b(tx|transmit|output)\b.*\bpower\b", re.IGNORECASE), "optic_tx_power"),
    (re.compile(r"\bbias\b", re.IGNORECASE), "optic_bias_current"),
)
_LANE = re.compile(r"\b(?:lane|channel)\s*/?\s*(\d+)", re.IGNORECASE)
_PART = re.compile(r"(?P<whole>.+)/(?P<number>\d+)")


@dataclass(frozen=True, slots=True)
class Sensor:
    """One sensor that is kept. `number`: its entPhysicalIndex."""

    number: int
    series: Series
    factor: float
    """What the integer on the wire is multiplied with, for units without a prefix."""
    form: str
    """`plain`, `dbm` (already), `watts` (to dBm) or `amperes` (to mA)."""

    def read(self, value: Value) -> float | None:
        """In the unit of its column; None where it cannot be read."""
        if not isinstance(value, int):
            return None
        number = value * self.factor
        if self.form == "watts":
            return 10 * math.log10(number * 1000) if number > 0 else DARK_DBM
        return number * 1000 if self.form == "amperes" else number


def sensors(tables: Tables, ports: Mapping[int, str], every: Every) -> list[Sensor]:
    """Those that have a column of ours: DOM values of ports, and temperatures of other parts."""
    kinds, scales, precisions, units = (
        by_index(tables, SENSOR[name]) for name in ("type", "scale", "precision", "units")
    )
    places, told = _Places(tables, ports), by_index(tables, SENSOR["status"])
    out = []
    for number, kind in kinds.items():
        text = places.text(number)
        port, lane = places.find(number, text)
        canonical, form = _meaning(kind, words(units.get(number)), text, port is not None)
        if canonical is None or number not in told:
            continue
        scale, precision = scales.get(number, _UNITS_SCALE), precisions.get(number, 0)
        if not isinstance(scale, int) or not isinstance(precision, int) or not -8 <= precision <= 9:
            continue
        row = port or f"component:{text or number}"
        name = f"ENTITY-SENSOR-MIB::entPhySensorValue.{number}"
        index = lane if canonical.startswith("optic_") else None
        series = Series(row, name, index, gauge(canonical), every)
        out.append(Sensor(number, series, 10.0 ** (3 * (scale - _UNITS_SCALE) - precision), form))
    return out


def _meaning(kind: Value, units: str, text: str, of_port: bool) -> tuple[str | None, str]:
    if kind == CELSIUS:
        return "module_temperature" if of_port else "component_temperature", "plain"
    if not of_port:
        return None, ""
    canonical = next((name for words_of, name in _KINDS if words_of.search(text)), None)
    if canonical == "optic_bias_current":
        return (canonical, "amperes") if kind == AMPERES else (None, "")
    if kind == WATTS:
        return canonical, "watts"
    if kind == CISCO_DBM or units.lower() == "dbm":
        return canonical, "dbm"
    return None, ""


class _Places:
    """Which port a part belongs to: by the alias of it or of what contains it, else by the port that its text names."""

    def __init__(self, tables: Tables, ports: Mapping[int, str]) -> None:
        self._ports = ports
        self._names = set(ports.values())
        self._descr, self._name, self._in = (
            by_index(tables, PHYSICAL[name]) for name in ("descr", "name", "contained_in")
        )
        self._alias: dict[int, int] = {}
        for numbers, value in rows(tables, ALIAS).items():
            if isinstance(value, tuple) and value[:-1] == IF_INDEX and numbers:
                self._alias[numbers[0]] = value[-1]

    def text(self, number: int) -> str:
        """What the part is called."""
        return words(self._descr.get(number)) or words(self._name.get(number))

    def find(self, number: int, text: str) -> tuple[str | None, str | None]:
        """Port and lane."""
        lane = found[1] if (found := _LANE.search(text)) else None
        at: Value = number
        for _ in range(_DEEPEST):
            if not isinstance(at, int):
                break
            if (port := self._ports.get(self._alias.get(at, -1))) is not None:
                return port, lane
            at = self._in.get(at)
        for word in f"{text} {words(self._name.get(number))}".split():
            port, of_word = self._named(word.strip(",:;()"))
            if port is not None:
                return port, lane or of_word
        return None, None

    def _named(self, word: str) -> tuple[str | None, str | None]:
        """`Ethernet49/2`: a port, or lane 2 of the port `Ethernet49`, or the second lane of `Ethernet49/1`."""
        if word in self._names:
            return word, None
        found = _PART.fullmatch(word)
        if found is None:
            first = f"{word}/1"
            return (first, None) if first in self._names else (None, None)
        if found["whole"] in self._names:
            return found["whole"], found["number"]
        number = int(found["number"])
        for lower in range(number - 1, max(0, number - 8), -1):
            if (port := f"{found['whole']}/{lower}") in self._names:
                return port, str(number - lower + 1)
        return None, None
