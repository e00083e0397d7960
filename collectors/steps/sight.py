"""What `lockstep collect check` sees of the training client's socket."""

import socket
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from collectors.contract.envelope import EnvelopeError, read_lines
from collectors.source import Sight
from collectors.steps.envelopes import TOPICS

QUEUE = Path("/proc/sys/net/unix/max_dgram_qlen")
ROOM = 64
"""Datagrams that should fit while the collector is busy: eight ranks that report eight parts of something at once."""
LINES = 10_000
"""Of a file; what stands behind them is not looked at."""


def look(path: Path, read: Callable[[Path], str] = Path.read_text) -> Iterator[Sight]:
    """Whether a rank of this node would be heard. Sends nothing."""
    here = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        here.connect(str(path))
        node = read(path.with_name(path.name + ".node")).strip()
        yield Sight(str(path), True, f"a collector listens, as node {node}")
    except FileNotFoundError:
        yield Sight(
            str(path),
            False,
            "no socket" if path.parent.is_dir() else f"no folder {path.parent}",
            "a collector",
            f"start `lockstep collect steps` on this node; in a container, mount {path.parent} from the host",
        )
    except ConnectionRefusedError:
        yield Sight(
            str(path), False, "a dead collector's socket", "a collector", "start `lockstep collect steps` again"
        )
    except OSError as why:
        yield Sight(
            str(path), False, f"the socket cannot be used: {why.strerror or why}", "", "see --socket and --socket-mode"
        )
    finally:
        here.close()
    room = _room(read)
    if room is not None and room < ROOM:
        yield Sight(
            str(path),
            True,
            f"the kernel holds {room} datagrams",
            "room while the collector is busy: clients then try again, later",
            "sysctl net.unix.max_dgram_qlen=512",
        )


def look_at_file(name: str) -> Iterator[Sight]:
    """A file of envelopes: how much of it can be read. Standard input is left alone."""
    if name == "-":
        yield Sight("stdin", False, "nothing", "", "standard input is read with --once only")
        return
    try:
        with Path(name).open("rb") as file:
            found = list(islice(read_lines(file, TOPICS, name), LINES))
    except OSError as why:
        yield Sight(name, False, "nothing", "", why.strerror or str(why))
        return
    bad = [one for one in found if isinstance(one, EnvelopeError)]
    words = f"; {len(bad)} lines cannot be read: {bad[0]}" if bad else ""
    yield Sight(name, bool(found) and not bad, f"{len(found) - len(bad)} messages{words}")


def _room(read: Callable[[Path], str]) -> int | None:
    try:
        return int(read(QUEUE))
    except (OSError, ValueError):
        return None
