"""A file of envelopes: what a node's collector published, or a scheduler's own job events."""

import sys
from collections.abc import Iterable
from pathlib import Path

from collectors.contract.envelope import EnvelopeError, read_lines
from collectors.contract.topics import JOB_EVENTS, JOB_PLACEMENTS, JOB_STEPS
from collectors.source import Outlet, SourceError
from collectors.whole_file import bounded_lines, opened

MOST_LINE = 64 << 20
"""An envelope is the size of a message: 1 MB where a placement names ten thousand ranks."""
TOPICS = {topic.name: topic for topic in (JOB_STEPS, JOB_EVENTS, JOB_PLACEMENTS)}


def publish_file(name: str, outlet: Outlet) -> int:
    """Publish every envelope; a bad line is rejected and reading goes on. Raises `SourceError`."""
    if name == "-":
        return publish_lines(bounded_lines(sys.stdin.buffer, MOST_LINE), "stdin", outlet)
    try:
        with opened(Path(name)) as file:
            return publish_lines(bounded_lines(file, MOST_LINE), name, outlet)
    except OSError as why:
        raise SourceError(f"{name}: {why.strerror}") from why


def publish_lines(lines: Iterable[bytes], name: str, outlet: Outlet) -> int:
    """The number of messages that were published."""
    count = 0
    for found in read_lines(lines, TOPICS, name):
        if isinstance(found, EnvelopeError):
            outlet.reject(f"steps:{name}", b"", str(found))
            continue
        outlet.publish(found.topic, found.message)
        count += 1
    return count
