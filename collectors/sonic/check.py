"""What `lockstep collect check` says of a SONiC switch: what its redis shows, and which counters are off."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from collectors.sonic.database import Database, DatabaseError, pack
from collectors.sonic.learn import Learned, learn
from collectors.sonic.plan import APPL, LLDP_FIELDS
from collectors.sonic.refresh import GROUPS
from collectors.sonic.target import RedisTarget
from collectors.source import Sight

SOME = "its other counters"
TIMEOUT_S = 4.0
"""For each of the two questions: connecting and learning, and the neighbours."""
_NEEDED = {"PORT_STAT_COUNTER", "QUEUE_STAT_COUNTER", "PG_DROP_STAT_COUNTER", "PFC_WD"}
"""Without these no lossless drop and no PFC storm can be told."""


async def look_at(targets: Sequence[RedisTarget], login: tuple[str, ...]) -> list[Sight]:
    """All switches at the same time, their sights in order."""
    found = await asyncio.gather(*(look(target, login) for target in targets))
    return [sight for sights in found for sight in sights]


async def look(target: RedisTarget, login: tuple[str, ...]) -> list[Sight]:
    """Ask one switch; one that cannot be read is a Sight that says so."""
    name = f"{target.name}={target.address}" if target.name else str(target.address)
    database = Database(target.address, timeout_s=TIMEOUT_S)
    try:
        await database.connect(login)
        learned = await learn(database)
        asked = [("SELECT", APPL), *(("HMGET", f"LLDP_ENTRY_TABLE:{port}", *LLDP_FIELDS) for port in learned.ports)]
        heard = await database.ask(pack(asked), len(asked))
    except DatabaseError as why:
        return [Sight(name, False, "nothing", str(why), _advice(str(why)))]
    finally:
        await database.close()
    return list(_sights(name, learned, heard[1:]))


def _advice(why: str) -> str:
    if "refuse" in why and "Connection refused" not in why:
        return "give LOCKSTEP_SONIC_PASSWORD, and LOCKSTEP_SONIC_USERNAME where redis has users"
    return (
        "redis listens on the switch only, at unix:/var/run/redis/redis.sock and 127.0.0.1:6379: run the collector "
        "there, or read the switch from outside by `gnmi --preset sonic`"
    )


def _sights(name: str, learned: Learned, heard: list[Any]) -> Iterator[Sight]:
    kinds = Counter(owner.kind for owner in learned.owned.values())
    if not kinds["port"]:
        yield Sight(name, False, "a redis", "ports: COUNTERS_PORT_NAME_MAP is empty", "see that swss runs: `docker ps`")
        return
    told = ", ".join(f"{count} {kind}s" for kind, count in kinds.items())
    yield Sight(name, True, f"{learned.hostname or 'a switch'}: {told}")
    off: dict[str, list[str]] = {}
    for group in GROUPS:
        state = learned.polls.get(group.name)
        if (state is None or not state.enabled) and group.counterpoll is not None:
            off.setdefault(group.counterpoll, []).append(group.name)
    shows = {group.name: group.shows for group in GROUPS}
    for word, names in off.items():
        lacks = ", ".join(shows[one] for one in names)
        yield Sight(name, not _NEEDED & set(names), SOME, lacks, f"`sudo counterpoll {word} enable`")
    watchdog = learned.polls.get("PFC_WD")
    if watchdog is None or not watchdog.enabled:
        yield Sight(name, False, SOME, shows["PFC_WD"], "`sudo pfcwd start_default`, where PFC is in use")
    if not any(isinstance(reply, list) and reply and reply[0] for reply in heard):
        yield Sight(
            name,
            True,
            SOME,
            "neighbours: LLDP_ENTRY_TABLE is empty",
            "see that lldp runs, here and on the hosts; or give a cable file",
        )
