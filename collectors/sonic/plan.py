"""What is asked of the databases at every sweep, packed once, and where each answer goes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from collectors.fabric.cables import Heard
from collectors.fabric.cell import Cell
from collectors.fabric.grid import Grid
from collectors.fabric.reading import number
from collectors.fabric.series import Every
from collectors.sonic.database import DatabaseError, pack
from collectors.sonic.names import Kind, Owner
from collectors.sonic.refresh import Poll, refresh_us
from collectors.sonic.series import Place, series

APPL, COUNTERS, CONFIG, FLEX, STATE = 0, 2, 4, 5, 6
"""Numbers of SONiC's databases (sonic-net/sonic-swss-common database_config.json)."""

_TABLES: dict[Kind, tuple[str, ...]] = {
    "port": ("COUNTERS", "RATES", "PORT_PHY_ATTR"),
    "lag": ("COUNTERS",),
    "rif": (),
    "queue": ("COUNTERS", "PERIODIC_WATERMARKS"),
    "voq": ("COUNTERS",),
    "pg": ("COUNTERS", "PERIODIC_WATERMARKS"),
    "pool": ("COUNTERS", "PERIODIC_WATERMARKS"),
}
PORT_FIELDS = ("oper_status", "speed", "fec", "flap_count")
LLDP_FIELDS = ("lldp_rem_sys_name", "lldp_rem_port_id")


@dataclass(frozen=True, slots=True)
class Hash:
    """One hash of a database, and what its fields count for."""

    database: int
    key: str
    place: Place
    vital: bool = False
    """Its absence says that the name maps are of another time."""


def hashes(owned: Mapping[str, Owner]) -> list[Hash]:
    """The hashes that may hold counters of these objects."""
    out = [
        Hash(
            COUNTERS,
            f"{table}:{oid}",
            Place(owner.place.table if table == "COUNTERS" else table, owner.place.port, owner.place.index),
            vital=table == "COUNTERS" and owner.kind == "port",
        )
        for oid, owner in owned.items()
        for table in _TABLES[owner.kind]
    ]
    for owner in owned.values():
        if owner.kind == "port":
            port = owner.place.port
            out.append(Hash(STATE, f"PORT_OPERR_TABLE|{port}", Place("PORT_OPERR_TABLE", port)))
    return out


@dataclass(frozen=True, slots=True)
class _Question:
    hash: Hash
    fields: Sequence[str]
    cells: Sequence[Cell]


class Plan:
    """The questions of one sweep. Learned anew when the name maps change."""

    def __init__(self, questions: Sequence[_Question], ports: Sequence[str]) -> None:
        self._ports = ports
        self._answers: list[_Question | str | None] = [None]
        """Parallel to the replies: a question, the port of an LLDP entry, or nothing (TIME, SELECT)."""
        commands: list[tuple[str | bytes | int, ...]] = [("TIME",)]
        database: int | None = None
        for question in sorted(questions, key=lambda q: q.hash.database):
            if question.hash.database != database:
                database = question.hash.database
                commands.append(("SELECT", database))
                self._answers.append(None)
            commands.append(("HMGET", question.hash.key, *question.fields))
            self._answers.append(question)
        commands.append(("SELECT", APPL))
        self._answers.append(None)
        for port in ports:
            commands.append(("HMGET", f"LLDP_ENTRY_TABLE:{port}", *LLDP_FIELDS))
            self._answers.append(port)
        self.request = pack(commands)
        self.replies = len(commands)
        self.fields = sum(len(question.fields) for question in questions)

    def take(self, replies: Sequence[Any], grid: Grid, stamp: tuple[int, int]) -> "Taken":
        """Put every answer into its cell. Raises `DatabaseError` when redis refuses to answer at all."""
        taken = Taken()
        for answer, reply in zip(self._answers, replies, strict=True):
            if isinstance(answer, _Question):
                if type(reply) is list and len(reply) == len(answer.cells):
                    _put(answer, reply, grid, stamp, taken)
                else:
                    grid.complain(answer.hash.key, f"redis says {reply!r}")
            elif isinstance(reply, Exception):
                raise DatabaseError(f"redis refuses: {reply}")
            elif answer is not None and type(reply) is list and len(reply) == len(LLDP_FIELDS):
                far, port = map(text_of, reply)
                if far:
                    taken.heard[answer] = (far, port or None)
        return taken


class Taken:
    """What one sweep found."""

    __slots__ = ("gone", "heard", "samples")

    def __init__(self) -> None:
        self.samples = 0
        self.gone = 0
        """Ports whose counters are not there any more."""
        self.heard: dict[str, Heard] = {}


def plan(
    found: Iterable[tuple[Hash, Sequence[str]]],
    ports: Sequence[str],
    grid: Grid,
    polls: Mapping[str, Poll],
    *,
    interval_us: int,
    keep_ignored: bool,
) -> Plan:
    """From the hashes that are there, with the names of their fields."""
    held = {hash_.key: (hash_, names) for hash_, names in found}
    questions = []
    for hash_, names in held.values():
        periodic = held.get("PERIODIC_WATERMARKS:" + hash_.key.removeprefix("COUNTERS:"))
        better = set(periodic[1]) if periodic is not None and hash_.key.startswith("COUNTERS:") else set()
        fields, cells = [], []
        for name in sorted(set(names) - better):
            found_series = series(hash_.place, name, Every(interval_us, refresh_us(name, polls)))
            if keep_ignored or found_series.counter is None or not found_series.counter.ignored:
                fields.append(name)
                cells.append(grid.cell(found_series))
        if fields:
            questions.append(_Question(hash_, fields, cells))
    for port in ports:
        place = Place("PORT_TABLE", port)
        questions.append(
            _Question(
                Hash(APPL, f"PORT_TABLE:{port}", place),
                PORT_FIELDS,
                [grid.cell(series(place, name, Every(interval_us))) for name in PORT_FIELDS],
            )
        )
    return Plan(questions, ports)


def text_of(raw: Any) -> str:
    """What redis told, as text; a field that is no bytes is none."""
    return raw.decode("utf-8", "replace") if isinstance(raw, bytes) else ""


def _put(question: _Question, reply: list[Any], grid: Grid, stamp: tuple[int, int], taken: Taken) -> None:
    present = len(reply)
    for cell, raw in zip(question.cells, reply, strict=True):
        if raw is None:
            present -= 1
            cell.value = None
        elif cell.reader is number:
            try:
                cell.value = int(raw)
                cell.stamp = stamp
            except (ValueError, TypeError):
                grid.put(cell, text_of(raw), stamp)
        else:
            grid.put(cell, text_of(raw), stamp)
    taken.samples += present
    if not present and question.hash.vital:
        taken.gone += 1
