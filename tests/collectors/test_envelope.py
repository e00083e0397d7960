"""One message a line."""

import json

import pytest

from collectors.contract.envelope import Enveloped, EnvelopeError, read, read_lines, write
from collectors.contract.kernel import KernelEvent
from collectors.contract.topics import KERNEL_EVENTS

TOPICS = {KERNEL_EVENTS.name: KERNEL_EVENTS}
EVENT = KernelEvent(ts_us=5, node="n1", kind="xid", code=79)


def test_what_is_written_reads_back() -> None:
    line = write(KERNEL_EVENTS, EVENT)
    assert json.loads(line) | {"value": None} == {
        "topic": "kernel.events.v1",
        "key": "default/n1",
        "ts_us": 5,
        "value": None,
    }
    assert read(line, TOPICS, "f:1") == Enveloped(KERNEL_EVENTS, EVENT)


def test_the_lines_of_kcat_are_envelopes_too() -> None:
    kcat = {
        "topic": "kernel.events.v1",
        "partition": 3,
        "offset": 17,
        "tstype": "create",
        "ts": 1700000000000,
        "broker": 1,
        "key": "default/n1",
        "payload": KERNEL_EVENTS.encode(EVENT).decode(),
    }
    assert read(json.dumps(kcat).encode(), TOPICS, "f:1") == Enveloped(KERNEL_EVENTS, EVENT)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"garbage", "f:9: not an envelope"),
        (b'{"key": "k"}', "f:9: not an envelope"),
        (b'{"topic": "other", "value": {}}', "f:9: unknown topic 'other'; known: kernel.events.v1"),
        (b'{"topic": "kernel.events.v1", "value": {"node": 3}}', "f:9: kernel.events.v1: "),
        (b'{"topic": "kernel.events.v1"}', "f:9: kernel.events.v1: "),
    ],
)
def test_a_bad_line_is_named(line: bytes, says: str) -> None:
    with pytest.raises(EnvelopeError) as told:
        read(line, TOPICS, "f:9")
    assert str(told.value).startswith(says)


def test_reading_goes_on_after_a_bad_line() -> None:
    lines = [b"", b"garbage", write(KERNEL_EVENTS, EVENT)]
    first, second = read_lines(lines, TOPICS, "f")
    assert isinstance(first, EnvelopeError)
    assert str(first).startswith("f:2: ")
    assert second == Enveloped(KERNEL_EVENTS, EVENT)
