"""`lockstep load --from-files`: envelopes into the warehouse, without Kafka."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from collectors.contract.envelope import EnvelopeError, read_lines
from collectors.contract.errors import UserError
from collectors.contract.kafka import kafka_settings
from collectors.contract.message import Message
from collectors.contract.topic import Topic
from collectors.contract.topics import REJECTED
from warehouse.loader import write
from warehouse.opening import connect
from warehouse.rejects import Rejects
from warehouse.rows.arrow import BAD_ROWS
from warehouse.rows.topics import LOADED, rows_of

CHUNK = 5_000


def load_files(names: list[str]) -> int:
    """Load every line that can be read; bad lines go to the table `rejected`. 2 when there was none."""
    rejects = Rejects(kafka_settings().cluster)
    files = [_open(name) for name in names]
    with connect(read_only=False) as connection:
        loaded = 0
        for name, file in zip(names, files, strict=True):
            with file:
                loaded += write(connection, _batches(file, name, rejects))
        reports: list[Message] = list(rejects.take())
        if reports:
            write(connection, [(REJECTED, reports)])
    sys.stderr.write(
        f"load: {loaded:,} messages loaded" + (f", {rejects.total:,} bad lines" if rejects.total else "") + "\n"
    )
    return 0 if loaded or not rejects.total else 2


def _open(name: str) -> IO[bytes]:
    if name == "-":
        return sys.stdin.buffer
    try:
        return Path(name).open("rb")
    except OSError as why:
        raise UserError(f"{name}: {why.strerror}") from why


def _batches(file: IO[bytes], name: str, rejects: Rejects) -> Iterator[tuple[Topic[Any], list[Message]]]:
    for line in read_lines(file, LOADED, name):
        if isinstance(line, EnvelopeError):
            _reject(rejects, name, str(line))
            continue
        try:
            rows_of(line.topic.name, [line.message])
        except BAD_ROWS as why:
            _reject(rejects, name, f"{name}: {line.topic.name}: {why}")
            continue
        yield line.topic, [line.message]


def _reject(rejects: Rejects, name: str, why: str) -> None:
    if rejects.total < 5:
        sys.stderr.write(f"load: {why}\n")
    rejects.add(name, None, None, b"", why, time.time_ns() // 1000)
