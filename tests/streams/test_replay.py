import json
import subprocess
import sys
from pathlib import Path

from collectors.contract.envelope import write
from collectors.contract.topics import GPU_SCRAPES
from streams.contract import FINDINGS, Finding, finding_key
from streams.pipeline import Pipeline
from streams.replay import Recording, replay
from streams.ticks import EventClock
from tests.streams.toy import HotDetector, scrape

S = 1_000_000
T0 = 1_800_000_000 * S
HOT = [scrape("n1", T0 + i * S, [95.0 if 3 <= i < 6 else 60.0]) for i in range(10)]
COOL = [scrape("n2", T0 + i * S + 500_000, [61.0]) for i in range(10)]


def findings(*files: list[bytes]) -> tuple[list[tuple[str, str]], Recording]:
    recording = Recording([(f"f{i}", lines) for i, lines in enumerate(files)])
    out = replay(recording.messages(), Pipeline([HotDetector()]))
    found = [(str(m.state), finding_key(m)) for _, m in out if isinstance(m, Finding)]
    return found, recording


def envelopes(scrapes: list) -> list[bytes]:  # type: ignore[type-arg]
    return [write(GPU_SCRAPES, s) for s in scrapes]


def test_files_are_merged_by_the_time_of_their_messages() -> None:
    recording = Recording([("a", envelopes(HOT)), ("b", envelopes(COOL))])
    times = [m.ts_us for _, m in recording.messages()]
    assert times == sorted(times)
    assert recording.read == 20


def test_the_order_of_lines_in_a_file_does_not_matter() -> None:
    assert findings(envelopes(HOT[::-1]))[0] == findings(envelopes(HOT))[0]


def test_a_bad_line_is_named_and_skipped() -> None:
    lines = envelopes(HOT)
    lines.insert(2, b"{oops")
    lines.insert(4, b'{"topic":"nowhere.v1","value":{}}')
    lines.insert(6, b'{"topic":"gpu.scrapes.v1","value":{"node":5}}')
    found, recording = findings(lines)
    assert found == findings(envelopes(HOT))[0]
    assert [str(e).split(" ")[0] for e in recording.errors] == ["f0:3:", "f0:5:", "f0:7:"]


def test_what_kcat_writes_is_read() -> None:
    lines = [
        json.dumps(
            {
                "topic": "gpu.scrapes.v1",
                "partition": 1,
                "offset": 7,
                "tstype": "create",
                "ts": 1,
                "broker": 0,
                "key": "default/n1",
                "payload": GPU_SCRAPES.encode(s).decode(),
            }
        ).encode()
        for s in HOT
    ]
    assert findings(lines)[0] == findings(envelopes(HOT))[0]


def test_recorded_findings_are_not_fed_back() -> None:
    lines = envelopes(HOT)
    out = list(replay(Recording([("a", lines)]).messages(), Pipeline([HotDetector()])))
    again = lines + [write(t, m) for t, m in out]
    assert findings(again)[0] == findings(lines)[0]


def test_the_clock_ticks_each_second_of_event_time_and_never_back() -> None:
    clock = EventClock()
    ticks = [list(clock.advance(T0 + us)) for us in (200_000, 900_000, 2_100_000, 0, 3_000_000)]
    assert [[t - T0 for t in row] for row in ticks] == [[], [], [S, 2 * S], [], [3 * S]]


def test_a_long_gap_is_crossed_in_few_ticks() -> None:
    clock = EventClock()
    assert list(clock.advance(T0)) == []
    assert 300 <= len(list(clock.advance(T0 + 86_400 * S))) <= 301


def test_the_command_prints_envelopes_that_can_be_read_again(tmp_path: Path) -> None:
    file = tmp_path / "minute.jsonl"
    file.write_bytes(b"\n".join([*envelopes(HOT), b"{oops"]) + b"\n")
    done = subprocess.run(
        [sys.executable, "-m", "infra.command.main", "replay", str(file), "--format", "json"],
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert f"{file}:11" in done.stderr.decode()
    topics = {json.loads(line)["topic"] for line in done.stdout.splitlines()}
    assert topics <= {FINDINGS.name, "incidents.v1", "node.health.v1"}


def test_the_command_ends_with_status_2_when_nothing_could_be_read(tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.write_bytes(b"")
    command = [sys.executable, "-m", "infra.command.main", "replay"]
    assert subprocess.run([*command, str(empty)], capture_output=True, check=False).returncode == 2
    missing = subprocess.run([*command, str(tmp_path / "no")], capture_output=True, check=False)
    assert missing.returncode == 2
    assert b"Traceback" not in missing.stderr
