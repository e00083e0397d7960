"""A window that is too long for one message, in pieces."""

from collections.abc import Iterator

import msgspec

from collectors.contract.job import CollectiveWindow

ROWS = 2000
"""Rows or members of a piece: some 400 KB of JSON with all columns. Kafka takes 1 MB."""

COLUMNS = tuple(
    f.name
    for f in msgspec.structs.fields(CollectiveWindow)
    if f.name != "members" and isinstance(msgspec.inspect.type_info(f.type), msgspec.inspect.ListType)
)


def cut(window: CollectiveWindow, rows: int = ROWS) -> Iterator[CollectiveWindow]:
    """The window itself where it is short. A piece has up to `rows` rows and up to as many members."""
    longest = max(len(window.rank), len(window.members))
    if longest <= rows:
        yield window
        return
    for first in range(0, longest, rows):
        part = {name: getattr(window, name)[first : first + rows] for name in COLUMNS}
        yield msgspec.structs.replace(window, members=window.members[first : first + rows], **part)
