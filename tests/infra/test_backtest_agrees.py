"""What was said of messages as they came is said again of the same messages out of the warehouse."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from collectors.contract.envelope import write as envelope
from collectors.contract.fabric import CounterForm, Port, PortScrape
from collectors.contract.message import Message
from collectors.contract.topic import Topic
from collectors.contract.topics import FABRIC_SCRAPES
from infra.command.main import main
from infra.fleet.scenario import load
from infra.fleet.virtual import messages as told_by
from streams.contract import INCIDENTS, Finding, Incident
from streams.pipeline import Pipeline
from streams.replay import replay
from warehouse import connect
from warehouse.loader import write
from warehouse.past.messages import messages as past
from warehouse.place import place_of
from warehouse.settings import WarehouseSettings, warehouse_settings

S = 1_000_000
T0 = 1_790_000_000 * S
SCENARIOS = Path(__file__).parents[1] / "scenarios"
PLANES = {
    "memory": "memory-rows-64",
    "links": "bad-link-64",
    "pause": "pause-storm-64",
    "throttle": "throttle-hard-64",
    "straggler": "slow-gpu-64",
    "xid": "xid-hardware-64",
    "vanished": "gpu-vanished-64",
    "dumps": "rank-hang-dumps-only-64",
}
Pair = tuple[Topic[Any], Message]


def stored(pairs: Sequence[Pair], folder: Path) -> WarehouseSettings:
    """The messages in a warehouse, by way of the loader's own writing."""
    settings = WarehouseSettings(state=str(folder), threads=1)
    by_topic: dict[str, tuple[Topic[Any], list[Message]]] = {}
    for topic, message in pairs:
        by_topic.setdefault(topic.name, (topic, []))[1].append(message)
    with connect(read_only=False, settings=settings) as lake:
        write(lake, list(by_topic.values()), place=place_of(settings))
    return settings


def said(message: Message) -> tuple[Any, ...]:
    """All but the words and the digits that a float column does not keep."""
    if isinstance(message, Finding):
        value = None if message.value is None else f"{message.value:.3g}"
        edge = (message.detector, message.state, message.severity, message.cause, message.episode_us, message.ts_us)
        return (*edge, message.subject, tuple(message.jobs), value)
    assert isinstance(message, Incident)
    news = (message.id, message.state, message.severity, message.cause, message.cause_word, message.ts_us)
    return (*news, message.subject, tuple(sorted(message.symptoms)), tuple(message.jobs), tuple(message.gpus))


def verdicts(pairs: Sequence[Pair]) -> list[tuple[Any, ...]]:
    """Every edge of findings and incidents, in an order of its own: of one second, which came first is no matter."""
    out = [message for _, message in replay(pairs, Pipeline()) if isinstance(message, Finding | Incident)]
    return sorted(map(said, out), key=repr)


@pytest.mark.parametrize("name", PLANES.values(), ids=PLANES.keys())
def test_the_warehouses_past_tells_what_the_stream_told(name: str, tmp_path: Path) -> None:
    sent = sorted(told_by(load(SCENARIOS / f"{name}.toml")), key=lambda pair: pair[1].ts_us)
    with connect(settings=stored(sent, tmp_path)) as lake:
        again = verdicts(list(past(lake, sent[0][1].ts_us, sent[-1][1].ts_us + 1)))
    live = verdicts(sent)
    assert live
    assert again == live


def wrapping(counter: str, form: CounterForm) -> list[Pair]:
    """A 32-bit loss counter of a lossless queue that stands near its end, and passes it after two minutes."""
    counts = [2**32 - 5] * 12 + [100] * 6
    return [
        (
            FABRIC_SCRAPES,
            PortScrape(
                device="leaf-1",
                ts_us=T0 + at * 10 * S,
                epoch="boot-1",
                ports=[Port(name="eth0", speed_gbps=400.0, lossless=[3])],
                columns={counter: [count]},
                forms={counter: form},
            ),
        )
        for at, count in enumerate(counts)
    ]


def test_a_32_bit_wrap_is_the_same_loss_by_replay_and_by_backtest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = wrapping("queue_drop_packets.3", CounterForm(bits=32))
    recorded = tmp_path / "recorded.jsonl"
    recorded.write_bytes(b"".join(envelope(topic, message) + b"\n" for topic, message in pairs))
    assert main(["replay", str(recorded), "--format", "json"]) == 0
    envelopes = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    live = [e["value"] for e in envelopes if e["topic"] == INCIDENTS.name]
    assert [(i["cause_word"], i["subject"]["id"]) for i in live] == [("lossless_drop", "leaf-1/eth0")]
    assert "105" in live[0]["summary"]

    stored(pairs, tmp_path)
    monkeypatch.setenv("LOCKSTEP_STATE", str(tmp_path))
    warehouse_settings.cache_clear()
    try:
        assert main(["backtest", "--from", "2026-09-21", "--to", "2026-09-22", "--json"]) == 0
    finally:
        warehouse_settings.cache_clear()
    (verdict, _) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    now = verdict["now"]
    assert (now["cause"], now["part"], now["opened_us"]) == ("lossless_drop", "port leaf-1/eth0", live[0]["opened_us"])
    assert now["summary"] == live[0]["summary"]


def test_a_value_that_its_device_has_not_renewed_is_no_standstill_in_either(tmp_path: Path) -> None:
    counter, form = "queue_drop_packets.3", CounterForm(bits=32, refresh_us=60 * S)
    pairs = wrapping(counter, form)
    with connect(settings=stored(pairs, tmp_path)) as lake:
        found = list(past(lake, T0, T0 + 300 * S))
    assert [m.forms for _, m in found if isinstance(m, PortScrape)] == [{counter: form}] * len(pairs)
    assert verdicts(found) == verdicts(pairs)
