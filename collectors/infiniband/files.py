"""A text that a tool wrote to a file, read again when the file changed."""

import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from collectors.contract.fabric import Link
from collectors.contract.topics import FABRIC_LINKS, FABRIC_SCRAPES
from collectors.fabric.host import changed
from collectors.fabric.rows import samples
from collectors.fabric.sweeping import Swept
from collectors.infiniband.db_csv import read_db_csv
from collectors.infiniband.ibqueryerrors import read_ibqueryerrors
from collectors.infiniband.linkinfo import read_linkinfo
from collectors.infiniband.messages import links, messages
from collectors.infiniband.netdiscover import read_netdiscover
from collectors.infiniband.perfquery import read_perfquery
from collectors.infiniband.reading import Reading
from collectors.infiniband.ufm import Ufm
from collectors.whole_file import opened

MOST_BYTES = 1 << 30
SHOWN_BYTES = 4096

Read = Callable[[str], list[Reading]]


def reader(kind: str, names: Mapping[str, str], device: str | None) -> Read:
    """What reads the text of `perfquery`, `ibqueryerrors`, `iblinkinfo`, `ibnetdiscover`, `ibdiagnet` or `ufm`."""
    ufm = Ufm(names)
    forms: dict[str, Read] = {
        "perfquery": lambda text: [read_perfquery(text, device)],
        "ibqueryerrors": lambda text: [read_ibqueryerrors(text, names)],
        "iblinkinfo": lambda text: [read_linkinfo(text, names)],
        "ibnetdiscover": lambda text: [read_netdiscover(text, names)],
        "ibdiagnet": lambda text: [read_db_csv(text, names)],
        "ufm": lambda text: list(ufm.read(text)),
    }
    return forms[kind]


@dataclass(slots=True)
class Texts:
    """Readings -> messages. Remembers the cables it told."""

    read: Read
    cluster: str
    keep_ignored: bool = False
    _told: dict[str, Link] = field(default_factory=dict)

    def swept(self, body: bytes, ts_us: int) -> Swept:
        """Everything that a text tells, as of `ts_us` where it tells no time itself."""
        out = Swept(bytes=len(body))
        for reading in self.read(body.decode("utf-8", "replace")):
            found = messages(reading, ts_us=ts_us, cluster=self.cluster, keep_ignored=self.keep_ignored)
            out.messages += [(FABRIC_SCRAPES, scrape) for scrape in found]
            out.samples += sum(map(samples, found))
            if reading.cables:
                told = links(reading.cables, ts_us=ts_us, cluster=self.cluster)
                news = changed(self._told, told, whole=reading.failed is None)
                out.messages += [(FABRIC_LINKS, link) for link in news]
            out.error = out.error or reading.failed
            if reading.unread:
                why, line = reading.unread[0]
                count = len(reading.unread)
                words = why if count == 1 else f"{count} lines could not be read, the first: {why}"
                out.rejects.append((line.encode()[:SHOWN_BYTES], words))
        return out


@dataclass(slots=True)
class FileText:
    """One file. Its date is the time of what it tells."""

    path: Path
    texts: Texts
    _seen: tuple[int, int, int] | None = None

    def read(self) -> Swept:
        """What changed since the last sweep; nothing where the file is the same. Raises `OSError`."""
        if str(self.path) == "-":
            return self.texts.swept(sys.stdin.buffer.read(MOST_BYTES), time.time_ns() // 1000)
        with opened(self.path) as file:
            found = os.fstat(file.fileno())
            stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
            if stamp == self._seen:
                return Swept()
            if found.st_size > MOST_BYTES:
                raise OSError(f"{self.path}: larger than {MOST_BYTES >> 20} MiB")
            body = file.read(MOST_BYTES)
        self._seen = stamp
        return self.texts.swept(body, found.st_mtime_ns // 1000)
