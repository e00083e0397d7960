"""What of a cable map has been told, and what there is to tell when it changed."""

from collections.abc import Mapping

from msgspec import structs

from collectors.contract.fabric import Link

Told = dict[str, Link]
"""Key on the topic -> the last link told of it. One that left the map stays, with `up` false."""


def changes(told: Mapping[str, Link], found: Mapping[str, Link], ts_us: int) -> list[tuple[str, Link]]:
    """(key, link) to tell: new and changed links, and with `up` false those that left the map.

    What did not change is as old as it was; a change is never older than what it changes, whatever the file's date.
    """
    out = []
    for key, link in found.items():
        former = told.get(key)
        if former is None:
            out.append((key, link))
        elif structs.replace(former, ts_us=link.ts_us) != link:
            out.append((key, _after(former, link)))
    for key, former in told.items():
        if key not in found and former.up:
            out.append((key, _after(former, structs.replace(former, ts_us=ts_us, up=False))))
    return out


def _after(former: Link, link: Link) -> Link:
    return structs.replace(link, ts_us=max(link.ts_us, former.ts_us + 1))
