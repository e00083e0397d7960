"""A page of dcgm-exporter, in every form it has had, becomes columns by field id."""

from pathlib import Path

import pytest

from collectors.contract.gpu import Entities, Gpu, GpuScrape
from collectors.dcgm.exposition import is_sample
from collectors.dcgm.page import PageReader, Parsed

UUID = "GPU-11111111-2222-3333-4444-55555555555"


def read(page: str, node: str = "target-host") -> Parsed:
    return PageReader(node, "default").read(page.encode(), 7)


def one(page: str) -> GpuScrape:
    (scrape,) = read(page).scrapes
    return scrape


def line(name: str, value: object, gpu: int = 0, more: str = "", host: str = "node-a") -> str:
    labels = f'gpu="{gpu}",UUID="{UUID}{gpu}",pci_bus_id="00000000:1A:00.{gpu}",device="nvidia{gpu}"'
    labels += f',modelName="NVIDIA H100 80GB HBM3",Hostname="{host}"' + (f",{more}" if more else "")
    return f"{name}{{{labels}}} {value}\n"


def count(scrape: GpuScrape) -> int:
    columns = [*scrape.columns.values(), *scrape.named.values()]
    return sum(value is not None for column in columns for value in column)


@pytest.mark.captures
def test_every_sample_of_a_real_page_is_in_the_message(captures: Path) -> None:
    page = (captures / "dcgm-exporter" / "t4_driver460.prom").read_text()
    parsed = read(page)
    (scrape,) = parsed.scrapes
    assert parsed.samples == count(scrape) == sum(map(is_sample, page.splitlines())) == 15
    assert scrape.node == "node-0000"
    assert scrape.columns["155"] == [8.969]
    assert scrape.columns["526"] == [0.0]
    assert scrape.named == {}
    assert scrape.labels == {"driver_version": "460.106.00", "process_name": "/usr/bin/dcgm-exporter"}


def test_the_modern_page_names_node_gpu_and_user() -> None:
    page = (
        "# HELP DCGM_FI_DEV_SM_CLOCK SM clock frequency (in MHz).\n# TYPE DCGM_FI_DEV_SM_CLOCK gauge\n"
        + line("DCGM_FI_DEV_SM_CLOCK", 1980, 0, 'container="c",namespace="team-a",pod="p"')
        + line("DCGM_FI_DEV_SM_CLOCK", 345, 1, 'container="",namespace="",pod=""')
    )
    assert one(page) == GpuScrape(
        ts_us=7,
        node="node-a",
        gpus=[
            Gpu(
                uuid=UUID + "0",
                index=0,
                model="NVIDIA H100 80GB HBM3",
                pci="0000:1a:00",
                namespace="team-a",
                pod="p",
                container="c",
            ),
            Gpu(uuid=UUID + "1", index=1, model="NVIDIA H100 80GB HBM3", pci="0000:1a:00"),
        ],
        columns={"100": [1980.0, 345.0]},
    )


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("DCGM_FI_DEV_POWER_USAGE", "155"),
        ("DCGM_FI_DEV_BOARD_POWER_WATTS", "155"),
        ("dcgm_power_usage", "155"),
        ("dcgm_memory_clock", "101"),
        ("dcgm_fi_prof_gr_engine_active", "1001"),
        ("DCGM_FI_DEV_ROW_REMAP_FAILED", "395"),
        ("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "112"),
    ],
)
def test_a_field_is_known_by_each_of_its_names(name: str, field: str) -> None:
    assert one(line(name, 1)).columns == {field: [1.0]}


def test_the_old_namespace_with_instances_is_read() -> None:
    page = (
        'dcgm_fi_prof_gr_engine_active{gpu="0",uuid="GPU-0",device="nvidia0",modelName="NVIDIA A100 80GB PCIe",'
        'GPU_I_PROFILE="3g.40gb",GPU_I_ID="1",container_name="c",pod_name="p",pod_namespace="n"} 0.250000\n'
        'dcgm_fi_prof_gr_engine_active{gpu="0",uuid="GPU-0",device="nvidia0",modelName="NVIDIA A100 80GB PCIe",'
        'GPU_I_PROFILE="3g.40gb",GPU_I_ID="2",container_name="",pod_name="",pod_namespace=""} 0.000000\n'
    )
    scrape = one(page)
    assert [(g.uuid, g.mig, g.pod, g.namespace, g.container) for g in scrape.gpus] == [
        ("GPU-0", "3g.40gb/1", "p", "n", "c"),
        ("GPU-0", "3g.40gb/2", None, None, None),
    ]
    assert scrape.columns == {"1001": [0.25, 0.0]}


def test_the_node_is_the_label_else_what_the_target_is_called() -> None:
    bare = 'DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-0"} 50\n'
    assert one(bare).node == "target-host"
    assert one(bare.replace("gpu=", 'hostname="node-b",gpu=')).node == "node-b"


def test_a_remote_engines_localhost_is_no_name_of_a_node() -> None:
    assert one(line("DCGM_FI_DEV_GPU_TEMP", 50, host="localhost")).node == "target-host"


def test_a_page_of_two_nodes_is_two_messages() -> None:
    page = line("DCGM_FI_DEV_GPU_TEMP", 50, host="a") + line("DCGM_FI_DEV_GPU_TEMP", 60, host="b")
    assert [(s.node, s.columns) for s in read(page).scrapes] == [("a", {"150": [50.0]}), ("b", {"150": [60.0]})]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DCGM_FI_DEV_GPU_TEMP", "2147483632"),
        ("DCGM_FI_DEV_GPU_TEMP", "2147483640"),
        ("DCGM_FI_DEV_GPU_TEMP", "9223372036854775794"),
        ("DCGM_FI_DEV_POWER_USAGE", "140737488355328.000000"),
        ("DCGM_FI_PROF_PCIE_TX_BYTES", "140737488355330.000000"),
        ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "9223372036854775792"),
        ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "9223372036854776000"),
        ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "9223372036854775800"),
        ("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "2147483634"),
        ("DCGM_FI_DEV_GPU_TEMP", "<<<NOT_SUPPORTED>>>"),
        ("DCGM_FI_DEV_GPU_TEMP", "NaN"),
        ("DCGM_FI_DEV_GPU_TEMP", "+Inf"),
        ("SOMETHING_NEW", "9223372036854775794"),
    ],
)
def test_a_blank_is_null(name: str, value: str) -> None:
    scrape = one(line(name, value) + line(name, 1, 1))
    assert [*scrape.columns.values(), *scrape.named.values()] == [[None, 1.0]]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", 2147483640),
        ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", 55491669881),
        ("DCGM_FI_DEV_POWER_VIOLATION", 140737488355400),
        ("DCGM_FI_PROF_NVLINK_RX_BYTES", 450000000000),
        ("DCGM_FI_DEV_GPU_TEMP", 0),
        ("DCGM_FI_DEV_CLOCKS_EVENT_REASONS", 0),
    ],
)
def test_a_large_counter_or_a_zero_is_a_value(name: str, value: int) -> None:
    assert list(one(line(name, value)).columns.values()) == [[float(value)]]


def test_a_gpu_without_a_series_has_null_in_that_column() -> None:
    page = (
        line("DCGM_FI_DEV_GPU_TEMP", 50, 0)
        + line("DCGM_FI_DEV_GPU_TEMP", 51, 1)
        + line("DCGM_FI_DEV_XID_ERRORS", 79, 1)
    )
    assert one(page).columns == {"150": [50.0, 51.0], "230": [None, 79.0]}


def test_several_jobs_of_a_gpu_are_joined_and_its_value_counted_once() -> None:
    page = line("DCGM_FI_DEV_GPU_TEMP", 50, 0, 'hpc_job="101"') + line("DCGM_FI_DEV_GPU_TEMP", 50, 0, 'hpc_job="102"')
    parsed = read(page)
    (scrape,) = parsed.scrapes
    assert [gpu.hpc_job for gpu in scrape.gpus] == ["101,102"]
    assert scrape.columns == {"150": [50.0]}
    assert scrape.named == {}
    assert parsed.samples == 2


def test_the_shares_of_a_gpu_that_several_pods_use_are_kept_by_name() -> None:
    page = line("DCGM_FI_DEV_FB_USED", 100, 0, 'container="c",namespace="n",pod="p"')
    page += line("DCGM_FI_DEV_FB_USED", 200, 0, 'container="c",namespace="n",pod="q"')
    scrape = one(page)
    assert [(g.namespace, g.pod, g.container) for g in scrape.gpus] == [("n,n", "p,q", "c,c")]
    assert scrape.columns == {"252": [100.0]}
    assert scrape.named == {'DCGM_FI_DEV_FB_USED{container="c",namespace="n",pod="q"}': [200.0]}


def test_labels_that_prometheus_renamed_win_over_its_own() -> None:
    more = 'namespace="monitoring",pod="exporter",exported_namespace="team",exported_pod="train-0",job="dcgm"'
    (gpu,) = one(line("DCGM_FI_DEV_GPU_TEMP", 50, 0, more)).gpus
    assert (gpu.namespace, gpu.pod) == ("team", "train-0")


def test_an_error_text_does_not_change_the_column() -> None:
    more = 'err_code="45",err_msg="Preemptive cleanup, due to \\"previous\\" errors {x} -- 1"'
    assert one(line("DCGM_FI_DEV_XID_ERRORS", 45, 0, more)).columns == {"230": [45.0]}


def test_windowed_counts_keep_what_tells_them_apart() -> None:
    page = line("DCGM_EXP_XID_ERRORS_COUNT", 1, 0, 'window_size_in_ms="300000",xid="42"')
    page += line("DCGM_EXP_XID_ERRORS_COUNT", 2, 0, 'window_size_in_ms="300000",xid="13"')
    page += line("DCGM_EXP_XID_ERRORS_COUNT", 0, 1, 'window_size_in_ms="300000"')
    assert one(page).named == {
        'DCGM_EXP_XID_ERRORS_COUNT{window_size_in_ms="300000",xid="42"}': [1.0, None],
        'DCGM_EXP_XID_ERRORS_COUNT{window_size_in_ms="300000",xid="13"}': [2.0, None],
        'DCGM_EXP_XID_ERRORS_COUNT{window_size_in_ms="300000"}': [None, 0.0],
    }


def test_links_switches_and_cpus_are_entities_with_field_ids() -> None:
    page = (
        'DCGM_FI_DEV_NVLINK_TX_BYTES{nvlink="3",gpu="1",Hostname="node-a"} 5\n'
        'DCGM_FI_DEV_NVSWITCH_LINK_FLIT_ERRORS{nvlink="3",nvswitch="nvswitch0",Hostname="node-a"} 6\n'
        'DCGM_FI_DEV_NVSWITCH_TEMPERATURE_CURRENT{nvswitch="nvswitch0",Hostname="node-a"} 40\n'
        'DCGM_FI_DEV_NVSWITCH_TEMPERATURE_CURRENT{nvswitch="nvswitch1",Hostname="node-a"} 41\n'
        'DCGM_FI_DEV_CPU_POWER_UTIL_CURRENT{cpu="0",Hostname="node-a"} 101.5\n'
        'DCGM_FI_DEV_CPU_UTIL_TOTAL{cpucore="17",cpu="0",Hostname="node-a"} 0.5\n'
        'exporter_up{Hostname="node-a"} 1\n'
    )
    page += line("DCGM_FI_DEV_GPU_TEMP", 50, 0) + line("DCGM_FI_DEV_GPU_TEMP", 51, 1)
    scrape = one(page)
    assert (scrape.columns, scrape.named) == ({"150": [50.0, 51.0]}, {})
    assert {entities.kind: entities for entities in scrape.entities} == {
        "nvlink": Entities(
            kind="nvlink",
            ids=["3"],
            parents=[UUID + "1"],
            named={"DCGM_FI_DEV_NVLINK_TX_BYTES": [5.0]},
        ),
        "nvswitch_link": Entities(kind="nvswitch_link", ids=["3"], parents=["nvswitch0"], columns={"786": [6.0]}),
        "nvswitch": Entities(
            kind="nvswitch", ids=["nvswitch0", "nvswitch1"], parents=[None, None], columns={"858": [40.0, 41.0]}
        ),
        "cpu": Entities(kind="cpu", ids=["0"], parents=[None], columns={"1130": [101.5]}),
        "cpucore": Entities(kind="cpucore", ids=["17"], parents=["0"], columns={"1100": [0.5]}),
        "node": Entities(kind="node", ids=["node-a"], parents=[None], named={"exporter_up": [1.0]}),
    }


def test_a_page_without_gpus_keeps_its_switches_and_cpus_and_says_so() -> None:
    labels = 'Hostname="node-a",DCGM_FI_DRIVER_VERSION="570"'
    scrape = one(f'DCGM_FI_DEV_CPU_TEMP_CURRENT{{cpu="0",{labels}}} 60\n')
    assert (scrape.gpus, scrape.errors) == ([], {"gpus": "the page names no GPU"})
    assert scrape.entities == [Entities(kind="cpu", ids=["0"], parents=[None], columns={"1110": [60.0]})]
    assert scrape.labels == {"driver_version": "570"}


def test_text_that_differs_between_gpus_carries_the_uuid() -> None:
    page = line("DCGM_FI_DEV_GPU_TEMP", 50, 0, 'DCGM_FI_DRIVER_VERSION="570",DCGM_FI_DEV_SERIAL="s0"')
    page += line("DCGM_FI_DEV_GPU_TEMP", 51, 1, 'DCGM_FI_DRIVER_VERSION="570",DCGM_FI_DEV_SERIAL="s1"')
    assert one(page).labels == {"driver_version": "570", f"serial/{UUID}0": "s0", f"serial/{UUID}1": "s1"}


@pytest.mark.parametrize(
    ("shown", "pci"),
    [("00000000:1A:00.0", "0000:1a:00"), ("00000008:01:00.0", "0008:01:00"), ("0000:1a:00", "0000:1a:00"), ("", None)],
)
def test_pci_addresses_have_one_form(shown: str, pci: str | None) -> None:
    (gpu,) = one(f'DCGM_FI_DEV_GPU_TEMP{{gpu="0",UUID="GPU-0",pci_bus_id="{shown}"}} 50\n').gpus
    assert gpu.pci == pci


def test_timestamps_and_odd_space_are_understood() -> None:
    page = 'DCGM_FI_DEV_GPU_TEMP{ gpu="0", UUID="GPU-0", } 50 1700000000000\r\n\r\n  \nup 1 1700000000000\n'
    parsed = read(page)
    assert parsed.bad == []
    (scrape,) = parsed.scrapes
    assert (scrape.columns, scrape.entities[0].named) == ({"150": [50.0]}, {"up": [1.0]})
    assert scrape.ts_us == 1_700_000_000_000_000


def test_a_bad_line_costs_itself_alone() -> None:
    parsed = read(line("DCGM_FI_DEV_GPU_TEMP", 50) + 'DCGM_FI_DEV_SM_CLOCK{gpu="0",UUID=\n<html>\nDCGM_X{} five\n')
    assert parsed.scrapes[0].columns == {"150": [50.0]}
    assert [bad.text for bad in parsed.bad] == ['DCGM_FI_DEV_SM_CLOCK{gpu="0",UUID=', "<html>", "DCGM_X{} five"]


@pytest.mark.parametrize("page", ["", "\n", "# only a comment\n", "<html><body>404</body></html>", "\x00\xff", "}{"])
def test_what_is_no_page_gives_no_message(page: str) -> None:
    assert read(page).scrapes == []
