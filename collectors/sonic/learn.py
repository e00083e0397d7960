"""What a switch says of itself in its databases: name maps, poll intervals, host name, and who its redis is."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from collectors.sonic.database import Database, DatabaseError, pack
from collectors.sonic.names import MAPS, Owner, owners
from collectors.sonic.plan import CONFIG, COUNTERS, FLEX, Hash, text_of
from collectors.sonic.refresh import GROUP_TABLE, GROUPS, Poll, poll

Command = tuple[str | bytes | int, ...]

_GROUPS = tuple(group.name for group in GROUPS)
_RUN_ID = re.compile(r"^run_id:(\w+)", re.MULTILINE)
COMMANDS: tuple[Command, ...] = (
    ("INFO", "server"),
    ("SELECT", CONFIG),
    ("HGET", "DEVICE_METADATA|localhost", "hostname"),
    ("SELECT", FLEX),
    *(("HGETALL", f"{GROUP_TABLE}:{name}") for name in _GROUPS),
    ("SELECT", COUNTERS),
    *(("HGETALL", name) for name in MAPS),
)


@dataclass(frozen=True, slots=True)
class Learned:
    """Everything that is not a counter."""

    run_id: str
    """Of the redis: another one after it was started again."""
    hostname: str | None
    polls: dict[str, Poll]
    owned: dict[str, Owner]

    @property
    def ports(self) -> list[str]:
        """Its front ports."""
        return [o.place.port for o in self.owned.values() if o.kind == "port" and o.place.port is not None]


async def learn(database: Database) -> Learned:
    """Raises `DatabaseError`."""
    return read_learned(await database.ask(pack(COMMANDS), len(COMMANDS)))


def read_learned(replies: Sequence[Any]) -> Learned:
    """From the replies to the commands of `learn`. Raises `DatabaseError` where redis refused one."""
    for reply in replies:
        if isinstance(reply, Exception):
            raise DatabaseError(f"redis refuses: {reply}")
    info, _, hostname, _, *rest = replies
    polls = {name: poll(_hash(reply)) for name, reply in zip(_GROUPS, rest[: len(_GROUPS)], strict=True)}
    maps = {name: _hash(reply) for name, reply in zip(MAPS, rest[len(_GROUPS) + 1 :], strict=True)}
    found = _RUN_ID.search(text_of(info))
    return Learned(
        run_id=found[1] if found else "",
        hostname=text_of(hostname) or None,
        polls={name: told for name, told in polls.items() if told is not None},
        owned=owners(maps),
    )


async def field_names(database: Database, wanted: Sequence[Hash]) -> list[list[str]]:
    """The fields of each hash, parallel to `wanted`; none where it is not there. Raises `DatabaseError`."""
    commands: list[Command] = []
    places: list[int] = []
    number: int | None = None
    for hash_ in wanted:
        if hash_.database != number:
            number = hash_.database
            commands.append(("SELECT", number))
        places.append(len(commands))
        commands.append(("HKEYS", hash_.key))
    replies = await database.ask(pack(commands), len(commands))
    return [[text_of(name) for name in replies[place]] if isinstance(replies[place], list) else [] for place in places]


def _hash(reply: Any) -> dict[str, str]:
    """The flat list of HGETALL."""
    if not isinstance(reply, list):
        return {}
    words = [text_of(word) for word in reply]
    return dict(zip(words[::2], words[1::2], strict=False))
