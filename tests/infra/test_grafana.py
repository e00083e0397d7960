"""The Grafana board asks only for what a collector exports, in queries that Prometheus can read."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from collectors.contract.beat import Beat
from collectors.contract.kafka import KafkaClient
from collectors.contract.settings import read_settings
from collectors.metrics import OutletMetrics
from collectors.outlet_kafka import KafkaOutlet
from collectors.outlet_producer import connect
from collectors.settings import CollectorSettings
from collectors.spool_folder import SpoolFolder

BOARD: dict[str, Any] = json.loads((Path(__file__).parents[2] / "infra" / "grafana" / "collectors.json").read_text())
QUERIES = [target["expr"] for panel in BOARD["panels"] for target in panel.get("targets", ())]


def exported(folder: Path) -> dict[str, set[str]]:
    """Sample name -> its labels, of a collector that has done a little of everything."""
    settings = read_settings(CollectorSettings, {})
    outlet = KafkaOutlet(
        lambda: connect(KafkaClient("127.0.0.1:1"), settings, "x"), SpoolFolder(folder, "x"), settings, "c"
    )
    outlet.beat(Beat(ts_us=1, collector="dcgm@a", source="dcgm", target="b"))
    outlet.reject("dcgm:b", b"", "no page")
    out = {sample.name: set(sample.labels) for family in OutletMetrics(outlet).collect() for sample in family.samples}
    outlet.close(within_s=0.0)
    return out


def test_every_query_asks_for_a_metric_and_labels_that_a_collector_exports(tmp_path: Path) -> None:
    known = exported(tmp_path)
    for query in QUERIES:
        for name, matchers in re.findall(r"(lockstep_\w+)\{([^}]*)\}", query):
            assert name in known, query
            asked = set(re.findall(r"(\w+)=", matchers)) - {"instance"}  # what Prometheus itself adds
            assert asked <= known[name], query
    assert {re.sub(r"\{.*", "", name) for q in QUERIES for name in re.findall(r"lockstep_\w+", q)} == set(known)


def test_prometheus_can_read_every_query(tmp_path: Path) -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed")
    plain = [query.replace("$__rate_interval", "5m").replace("$__range", "1h") for query in QUERIES]
    rules = [{"record": f"board:query{number}", "expr": query} for number, query in enumerate(plain)]
    file = tmp_path / "rules.yml"
    file.write_text(json.dumps({"groups": [{"name": "board", "rules": rules}]}))
    done = subprocess.run([promtool, "check", "rules", str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_panels_do_not_overlap_and_each_says_what_it_shows() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in BOARD["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        assert place["x"] + place["w"] <= 24, panel["title"]
        taken |= cells
        assert panel["type"] == "row" or panel["description"], panel["title"]
    ids = [panel["id"] for panel in BOARD["panels"]]
    assert len(set(ids)) == len(ids)
