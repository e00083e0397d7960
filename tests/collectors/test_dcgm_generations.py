"""Pages of every generation of the exporter, and of what stands between it and us."""

from pathlib import Path
from typing import Any

import pytest

from collectors.contract.gpu import Entities, Gpu, GpuScrape
from collectors.dcgm.exposition import is_sample
from collectors.dcgm.page import PageReader

FOLDER = Path(__file__).parent / "pages"
PAGES = sorted(path.name for path in FOLDER.glob("*.prom"))
UUID = "GPU-0a1b2c3d-0000-4000-8000-00000000000"


def page(name: str) -> bytes:
    return (FOLDER / name).read_bytes()


def read(name: str) -> list[GpuScrape]:
    return PageReader("target-host", "c").read(page(name), 7).scrapes


def one(name: str) -> GpuScrape:
    (scrape,) = read(name)
    return scrape


def numbers(scrape: GpuScrape) -> list[float | None]:
    tables: list[Any] = [scrape, *scrape.entities]
    return [v for t in tables for values in (*t.columns.values(), *t.named.values()) for v in values]


@pytest.mark.parametrize("name", PAGES)
def test_every_line_is_read_and_the_next_page_is_read_alike(name: str) -> None:
    reader = PageReader("target-host", "c")
    first = reader.read(page(name), 7)
    assert first.bad == []
    assert reader.read(page(name), 7) == first
    lines = [line for line in page(name).decode().splitlines() if is_sample(line) and "_created" not in line]
    assert first.samples == len(lines)


@pytest.mark.parametrize("name", [name for name in PAGES if name not in ("exporter_2.prom", "exporter_4.prom")])
def test_every_number_of_a_page_is_in_its_messages(name: str) -> None:
    parsed = PageReader("target-host", "c").read(page(name), 7)
    assert sum(n is not None for scrape in parsed.scrapes for n in numbers(scrape)) == parsed.samples


def test_names_of_the_first_exporters_are_fields_and_a_pod_is_no_host() -> None:
    scrape = one("old_names.prom")
    assert scrape.node == "target-host"
    assert [gpu.uuid for gpu in scrape.gpus] == [UUID + "0", UUID + "1"]
    assert scrape.columns == {
        "100": [585, 1410],
        "101": [5000, 5001],
        "150": [54, 61],
        "155": [30.982, 201.5],
        "156": [55491669881, 71234567890],
        "202": [0, 3],
        "230": [0, 31],
    }


def test_exporters_of_2_leak_sentinels_which_are_no_readings() -> None:
    scrape = one("exporter_2.prom")
    assert {field: values[1] for field, values in scrape.columns.items()} == {
        "100": 135,
        "140": None,
        "155": None,
        "156": None,
        "252": None,
        "390": 0,
    }
    assert [(gpu.pod, gpu.namespace, gpu.container) for gpu in scrape.gpus] == [(None, None, None)] * 2


def test_exporters_of_3_tell_model_driver_and_the_text_of_an_xid() -> None:
    scrape = one("exporter_3.prom")
    assert scrape.labels == {"driver_version": "535.129.03"}
    assert scrape.gpus[0] == Gpu(
        uuid=UUID + "0",
        index=0,
        model="NVIDIA A100-SXM4-80GB",
        namespace="team-a",
        pod="llm-0",
        container="train",
    )
    assert scrape.columns["230"] == [0, 45]
    assert scrape.named == {
        'DCGM_EXP_CLOCK_EVENTS_COUNT{clock_event="sw_thermal",window_size_in_ms="300000"}': [2, None]
    }


def test_exporters_of_4_tell_the_address_the_pods_uid_and_several_jobs_of_a_gpu() -> None:
    scrape = one("exporter_4.prom")
    assert [(g.pci, g.pod, g.pod_uid, g.hpc_job) for g in scrape.gpus] == [
        ("0000:1a:00", "llm-0", "7d0c", None),
        ("0000:1b:00", None, None, "1001,1002"),
    ]
    assert (scrape.columns["396"], scrape.columns["241"], scrape.named) == ([0, 1], [0, 98765432100], {})


def test_the_names_of_dcgm_4_6_are_the_same_fields() -> None:
    scrape = one("exporter_46_renamed.prom")
    assert scrape.node == "node-a"
    assert scrape.labels == {"driver_version": "580.65.06"}
    assert sorted(scrape.columns) == sorted(["150", "155", "203", "230", "202", "393", "395", "346", "1002"])
    assert scrape.named == {}


def test_instances_are_rows_of_their_gpu() -> None:
    scrape = one("mig.prom")
    assert [(gpu.uuid, gpu.mig, gpu.pod) for gpu in scrape.gpus] == [
        (UUID + "0", "3g.40gb/1", "llm-serve-0"),
        (UUID + "0", "1g.10gb/7", None),
        (UUID + "1", None, None),
    ]
    assert scrape.columns["203"] == [None, None, 97]


def test_a_page_that_came_through_prometheus_is_one_message_a_node_at_its_own_time() -> None:
    found = [
        (s.node, s.ts_us, [(g.namespace, g.pod, g.container) for g in s.gpus]) for s in read("kubernetes_exported.prom")
    ]
    nobody = (None, None, None)
    assert found == [
        ("node-a", 1_790_000_000_100_000, [("team-c", "infer-0", "main"), nobody]),
        ("node-b", 1_790_000_007_000_000, [nobody]),
    ]


def test_openmetrics_is_the_same_page() -> None:
    scrape = one("openmetrics.prom")
    assert scrape.columns == {"150": [50, 51], "202": [3, 0], "311": [0, 1]}
    assert scrape.named == {'DCGM_EXP_XID_ERRORS_COUNT{window_size_in_ms="300000",xid="63"}': [None, 1]}
    assert (scrape.entities, scrape.errors, scrape.ts_us) == ([], {}, 7)


def test_a_gb200_tray_shows_links_switches_and_cpus_beside_its_gpus() -> None:
    scrape = one("gb200.prom")
    assert [gpu.pci for gpu in scrape.gpus] == ["0008:01:00", "0009:01:00"]
    assert scrape.columns == {"100": [2062, 120], "1211": [0, 2], "1218": [0, 0]}
    assert {entities.kind: entities for entities in scrape.entities} == {
        "nvlink": Entities(
            kind="nvlink",
            ids=["0", "1", "17"] * 2,
            parents=[*(UUID + gpu for gpu in "000111")],
            columns={"1525": [0, 1, 17, 10, 11, 27]},
        ),
        "nvswitch": Entities(
            kind="nvswitch", ids=["nvswitch0", "nvswitch1"], parents=[None, None], columns={"858": [40, 41]}
        ),
        "nvswitch_link": Entities(
            kind="nvswitch_link",
            ids=["0", "63"] * 2,
            parents=["nvswitch0", "nvswitch0", "nvswitch1", "nvswitch1"],
            columns={"786": [0, 63, 1, 64]},
        ),
        "cpu": Entities(kind="cpu", ids=["0", "1"], parents=[None, None], columns={"1130": [100.5, 101.5]}),
        "cpucore": Entities(
            kind="cpucore", ids=["0", "71", "72"], parents=["0", "0", "1"], columns={"1100": [0, 0.71, 0.72]}
        ),
    }


def test_a_switch_tray_without_gpus_keeps_its_series() -> None:
    scrape = one("no_gpu.prom")
    assert (scrape.gpus, scrape.errors) == ([], {"gpus": "the page names no GPU"})
    assert [(entities.kind, entities.columns) for entities in scrape.entities] == [
        ("nvswitch", {"858": [41], "856": [0]}),
        ("cpu", {"1110": [55]}),
    ]
