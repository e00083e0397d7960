"""The scoreboard: what counts as found, as one page too many, and as false."""

import io
import json
from pathlib import Path

import pytest

from infra.detector_score import by_detector
from infra.fleet.scenario import Scenario, ScenarioError, parse
from infra.play import files
from infra.score_report import closing, document, table, verdict_word
from infra.scoreboard import Scoreboard, judge
from streams.contract import Incident, Severity, Subject

START_US = 1_790_000_000_000_000
SCENARIO: Scenario = parse(
    """
[fleet]
nodes = 4
gpus = 4
switches = 2
[[jobs]]
name = "train"
nodes = ["node-01", "node-02"]
tp = 2
[[faults]]
kind = "thermal_throttle"
target = "node-01/1"
from_s = 20
to_s = 60
[[faults]]
kind = "lossless_drop"
target = "leaf-1/Ethernet8"
from_s = 30
[[faults]]
kind = "xid"
code = 13
target = "node-02/0"
from_s = 10
page = false
""",
    "test.toml",
    "test",
)
LAYOUT = SCENARIO.layout
HOT = LAYOUT.gpu_by_name["node-01/1"]


def incident(id: str, at_s: float, subject: Subject, word: str, **more: object) -> Incident:
    known: dict[str, object] = {"state": "opened", "severity": "critical", "gpus": [], "detector": "throttle"} | more
    return Incident(
        id=id,
        ts_us=START_US + round(at_s * 1e6),
        opened_us=START_US + round(at_s * 1e6),
        cause=f"{word}|x",
        cause_word=word,
        subject=subject,
        summary=f"{word} on {subject.id}",
        action="act",
        runbook="r",
        **known,  # type: ignore[arg-type]
    )


def gpu(name: str) -> Subject:
    slot = LAYOUT.gpu_by_name[name]
    return Subject(kind="gpu", id=slot.uuid, node=slot.node, gpu_uuid=slot.uuid, pci=slot.pci)


PORT = Subject(kind="port", id="leaf-1/Ethernet8", device="leaf-1", port="Ethernet8", priority=3)
THROTTLE = incident("a", 26, gpu("node-01/1"), "thermal_throttle")
DROP = incident("b", 32.5, PORT, "lossless_drop", detector="lossless_drop")


def board(*incidents: Incident) -> Scoreboard:
    return judge(SCENARIO, [], incidents, START_US)


def test_a_fault_is_found_by_a_page_on_its_part_with_its_cause() -> None:
    seen = board(THROTTLE, DROP)
    assert [(v.found, v.cause, v.delay_s, len(v.pages)) for v in seen.verdicts] == [
        (True, "thermal_throttle", 6.0, 1),
        (True, "lossless_drop", 2.5, 1),
        (False, None, None, 0),
    ]
    assert (seen.ok, seen.false_pages, seen.missed) == (True, [], [])


def test_a_gpu_is_known_by_node_and_pci_address_too() -> None:
    subject = Subject(kind="gpu", id=f"node-01/{HOT.pci}", node="node-01", pci=HOT.pci)
    assert board(incident("a", 26, subject, "thermal_throttle")).verdicts[0].found


def test_a_fault_that_nobody_paged_is_missed() -> None:
    seen = board(THROTTLE)
    assert [v.fault.kind for v in seen.missed] == ["lossless_drop"]
    assert not seen.ok


def test_a_page_with_the_wrong_cause_finds_nothing_and_is_not_false() -> None:
    seen = board(incident("a", 26, gpu("node-01/1"), "power_cap"), DROP)
    assert (seen.verdicts[0].found, seen.verdicts[0].cause, seen.false_pages) == (False, "power_cap", [])
    assert verdict_word(seen.verdicts[0]) == "MISSED (wrong cause)"


def test_a_page_that_comes_too_late_finds_nothing() -> None:
    seen = board(incident("a", 85, gpu("node-01/1"), "thermal_throttle"), DROP)
    assert (seen.verdicts[0].found, seen.verdicts[0].delay_s) == (False, 65.0)
    assert verdict_word(seen.verdicts[0]) == "MISSED (too late)"


def test_the_delay_counts_to_the_message_that_named_the_cause() -> None:
    first = incident("a", 24, gpu("node-01/1"), "slow_rank", detector="straggler")
    seen = board(first, incident("a", 31, gpu("node-01/1"), "thermal_throttle", state="updated"), DROP)
    assert (seen.verdicts[0].found, seen.verdicts[0].delay_s, seen.pages) == (True, 11.0, 2)


def test_a_symptom_of_its_own_is_a_second_page_and_not_a_false_one() -> None:
    job = incident("c", 40, Subject(kind="job", id="train", job="train"), "job_regression", detector="straggler")
    seen = board(THROTTLE, DROP, job)
    assert (seen.ok, sum(len(v.pages) for v in seen.verdicts)) == (True, 3)


def test_blaming_a_healthy_peer_is_false() -> None:
    peer = incident("c", 40, gpu("node-01/3"), "slow_rank", detector="straggler", gpus=[gpu("node-01/3").id])
    seen = board(THROTTLE, DROP, peer)
    assert [(f.summary, f.because) for f in seen.false_pages] == [(peer.summary, "no fault behind it")]
    assert not seen.ok


@pytest.mark.parametrize(("at_s", "false"), [(40, 0), (22, 1)])
def test_a_page_about_the_whole_pool_is_right_once_it_has_several_faults(at_s: float, false: int) -> None:
    pool = incident("c", at_s, Subject(kind="pool", id="default"), "fleet_guard", detector="health")
    seen = board(THROTTLE, DROP, pool)
    assert (len(seen.false_pages), [len(v.pages) for v in seen.verdicts]) == (false, [1, 1, 0])


def test_a_page_before_its_fault_or_long_after_it_is_false() -> None:
    early = incident("c", 5, gpu("node-01/1"), "thermal_throttle")
    late = incident("d", 121, gpu("node-01/1"), "thermal_throttle")
    assert len(board(early, THROTTLE, DROP, late).false_pages) == 2


def test_paging_what_must_not_page_is_false_and_says_so() -> None:
    app = incident("c", 12, gpu("node-02/0"), "xid_13", detector="xid", severity="warning")
    seen = board(THROTTLE, DROP, app)
    assert [f.because for f in seen.false_pages] == ["xid 13 node-02/0 must not page"]
    assert verdict_word(seen.verdicts[2]) == "PAGED wrongly"


def test_information_is_no_page() -> None:
    app = incident("c", 12, gpu("node-02/0"), "application_xid_13", detector="xid", severity="info")
    assert board(THROTTLE, DROP, app).ok


@pytest.mark.parametrize(("severity", "found"), [("warning", True), ("info", False)])
def test_a_ticket_finds_a_fault_and_information_does_not(severity: Severity, found: bool) -> None:
    seen = board(incident("a", 26, gpu("node-01/1"), "thermal_throttle", severity=severity))
    assert seen.verdicts[0].found is found


def test_a_rank_is_known_by_its_gpu_when_ranks_have_moved() -> None:
    subject = Subject(kind="rank", id="train/7", job="train", rank=7)
    seen = board(incident("a", 26, subject, "thermal_throttle", gpus=[HOT.uuid]), DROP)
    assert seen.verdicts[0].found


def test_precision_recall_and_delay_stand_per_detector() -> None:
    false = incident("c", 40, gpu("node-03/2"), "thermal_throttle")
    scores = {score.name: score for score in by_detector([board(THROTTLE, DROP, false), board(DROP)])}
    throttle = scores["throttle"]
    assert (throttle.faults, throttle.found, throttle.false_pages) == (2, 1, 1)
    assert (throttle.precision, throttle.recall, throttle.delay_s(0.5)) == (0.5, 0.5, 6.0)
    assert (scores["lossless_drop"].recall, scores["lossless_drop"].delay_s(0.9)) == (1.0, 2.5)


def test_a_detector_that_said_nothing_has_no_precision() -> None:
    (score,) = [score for score in by_detector([board(DROP)]) if score.name == "throttle"]
    assert (score.precision, score.recall, score.delay_s(0.5)) == (None, 0.0, None)


def test_the_table_and_the_document_tell_the_same() -> None:
    false = incident("c", 40, gpu("node-03/2"), "thermal_throttle")
    seen = [board(THROTTLE, DROP, false)]
    out = io.StringIO()
    table(seen, out, 1.0)
    told = json.loads(document(seen))
    assert f"false page in test (no fault behind it): throttle {false.summary}" in out.getvalue()
    assert told["ok"] is False
    assert [f["summary"] for f in told["scenarios"][0]["false_pages"]] == [false.summary]
    assert [f["found"] for f in told["scenarios"][0]["faults"]] == [True, True, False]
    assert closing(seen, 1.0).startswith("1 scenario: 2 of 2 faults found with the right cause, 1 false page,")


def test_scenarios_are_named_by_file_folder_or_name(tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text("")
    assert files([str(tmp_path)]) == [tmp_path / "one.toml"]
    assert [path.name for path in files(["demo"])] == ["demo.toml"]
    assert len(files(["all"])) > 5
    with pytest.raises(ScenarioError, match="no scenario of that name; there is demo"):
        files(["nothing"])
