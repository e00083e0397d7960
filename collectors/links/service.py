"""A cable map told to Kafka, and kept true while its file changes."""

import asyncio
import hashlib
import socket
import time
from pathlib import Path

from collectors.contract.beat import Beat
from collectors.contract.kafka import kafka_settings
from collectors.contract.topics import FABRIC_LINKS
from collectors.cursor import CursorFile
from collectors.defect import defect
from collectors.links.file import MapFile, read_file, stamp
from collectors.links.forms import MapError
from collectors.links.told import Told, changes
from collectors.settings import collector_settings, this_node
from collectors.source import Outlet

LOOK_S = 1.0
"""Between two looks at the file. A change is read when the file looked the same twice: it is not half written."""


class Service:
    """What was told is kept on disk, so that a cable that left the file while nobody looked is told as gone."""

    def __init__(self, path: Path, outlet: Outlet, interval_s: float, node: str | None, instance: str | None) -> None:
        self._path, self._outlet, self._interval_s = path, outlet, interval_s
        self._collector = f"links@{this_node(node)}" + (f":{instance}" if instance else "")
        kafka, name = kafka_settings(), hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]
        self._cluster = kafka.cluster
        self._kept: CursorFile[Told] = CursorFile(
            Path(kafka.state) / "cursors" / f"links-{socket.gethostname()}-{name}.json",
            Told,
            collector_settings().spool_after_s + 1,
        )
        self._told: Told = {}
        self._seen = stamp(path)
        self._count = self._bytes = 0
        self._error: str | None = None

    def begin(self) -> None:
        """Tell the whole map, and what has left it since the last run. Raises `MapError`."""
        began_s = time.monotonic()
        self._told = self._kept.load() or {}
        found = read_file(self._path)
        news = dict(changes(self._told, found.links, found.ts_us))
        again = {key: self._told[key] for key in found.links if key not in news}
        self._tell(again | news, found)
        self._beat(began_s, len(again) + len(news), None)

    async def follow(self, look_s: float = LOOK_S) -> None:
        """Tell changes until cancelled. A file that is gone or has a mistake changes nothing until it is mended."""
        beaten_s, pending, messages = time.monotonic(), self._seen, 0
        while True:
            await asyncio.sleep(min(look_s, self._interval_s))
            began_s = time.monotonic()
            now = stamp(self._path)
            if now != self._seen and now == pending:
                self._seen = now
                messages += self._again()
            pending = now
            self._kept.settle()
            if began_s - beaten_s >= self._interval_s:
                self._beat(began_s, messages, self._interval_s)
                beaten_s, messages = began_s, 0

    def close(self) -> None:
        """Keep what was told."""
        self._kept.close()

    def _again(self) -> int:
        try:
            found = read_file(self._path)
        except MapError as why:
            self._error = str(why)
            self._outlet.reject(f"links:{self._path}", b"", self._error)
            return 0
        except Exception as why:  # noqa: BLE001 (what was told stays, until the file changes again)
            self._error = defect(f"links:{self._path}", why)
            return 0
        self._error = None
        news = dict(changes(self._told, found.links, found.ts_us))
        self._tell(news, found)
        return len(news)

    def _tell(self, links: Told, found: MapFile) -> None:
        for link in links.values():
            self._outlet.publish(FABRIC_LINKS, link)
        self._count = len(found.links)
        self._bytes += found.size
        self._told = {**self._told, **links}
        self._kept.stage(self._told)

    def _beat(self, began_s: float, messages: int, interval_s: float | None) -> None:
        self._outlet.beat(
            Beat(
                cluster=self._cluster,
                ts_us=time.time_ns() // 1000,
                collector=self._collector,
                source="links",
                target=str(self._path),
                ok=self._error is None,
                seconds=time.monotonic() - began_s,
                messages=messages,
                samples=self._count,
                bytes=self._bytes,
                interval_s=interval_s,
                error=self._error,
            )
        )
        self._bytes = 0
