"""What is known to be odd about the exporter's numbers, a test each."""

import pytest

from collectors.contract.gpu import GpuScrape
from collectors.contract.topics import GPU_SCRAPES
from collectors.dcgm.client import Done
from collectors.dcgm.fields import field_of
from collectors.dcgm.page import PageReader
from collectors.dcgm.sweep import Sweep
from collectors.dcgm.targets import Target
from tests.collectors.list_outlet import ListOutlet


def line(name: str, value: object, gpu: int = 0, more: str = "", uuid: str | None = None) -> str:
    labels = f'gpu="{gpu}",UUID="{uuid or f"GPU-{gpu}"}",pci_bus_id="00000000:{0x1A + gpu:02X}:00.0",Hostname="node-a"'
    return f"{name}{{{labels}{f',{more}' if more else ''}}} {value}\n"


class Given:
    """A page that is there at once."""

    def __init__(self, page: bytes) -> None:
        self._page = page

    def fetch(self, done: Done) -> None:
        done(self._page)

    def give_up(self, why: OSError) -> None:
        raise AssertionError(why)

    def close(self) -> None:
        self._page = b""


def read(page: str, reader: PageReader | None = None) -> GpuScrape:
    (scrape,) = (reader or PageReader("target", "c")).read(page.encode(), 7).scrapes
    return scrape


@pytest.mark.parametrize(
    ("name", "base"),
    [
        ("DCGM_FI_DEV_GPU_TEMP", 2147483632),
        ("DCGM_FI_DEV_FB_USED", 2147483632),
        ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", 9223372036854775792),
        ("DCGM_FI_DEV_CLOCKS_EVENT_REASONS", 9223372036854775792),
        ("DCGM_FI_PROF_NVLINK_TX_BYTES", 140737488355328),
    ],
)
def test_a_value_from_the_types_first_sentinel_on_is_blank_and_one_below_is_not(name: str, base: int) -> None:
    found = [read(line(name, value)).columns for value in (base, base + 3, base + 9, base - 4096)]
    assert [next(iter(columns.values())) for columns in found] == [[None], [None], [None], [float(base - 4096)]]


@pytest.mark.parametrize("text", ["<<<NULL>>>", "<<<NOT_FOUND>>>", "<<<NOT_SUPPORTED>>>", "<<<NOT_PERM>>>"])
def test_a_blank_text_is_no_bad_line(text: str) -> None:
    parsed = PageReader("target", "c").read(line("DCGM_FI_DEV_GPU_TEMP", text).encode(), 7)
    assert (parsed.scrapes[0].columns, parsed.bad) == ({"150": [None]}, [])


def test_a_sentinel_that_went_through_a_float_is_still_blank() -> None:
    assert read(line("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "9.223372036854776e+18")).columns == {"156": [None]}


def test_an_xid_that_stays_is_the_same_column_value_each_time_and_never_an_event() -> None:
    reader, page = PageReader("target", "c"), line("DCGM_FI_DEV_XID_ERRORS", 79)
    assert [read(page, reader).columns for _ in range(3)] == [{"230": [79]}] * 3


def test_codes_that_the_xid_column_lost_stand_in_the_windowed_counts() -> None:
    window = 'window_size_in_ms="300000",xid='
    page = line("DCGM_FI_DEV_XID_ERRORS", 45) + line("DCGM_EXP_XID_ERRORS_COUNT", 1, 0, f'{window}"62"')
    page += line("DCGM_EXP_XID_ERRORS_COUNT", 4, 0, f'{window}"45"')
    scrape = read(page)
    assert (scrape.columns, sorted(scrape.named.values())) == ({"230": [45]}, [[1], [4]])
    assert all("xid=" in name for name in scrape.named)


def test_an_xid_that_is_printed_twice_is_one_value() -> None:
    scrape = read(line("DCGM_FI_DEV_XID_ERRORS", 31) * 2)
    assert (scrape.columns, scrape.named, scrape.errors) == ({"230": [31]}, {}, {})


def test_two_xids_printed_for_one_gpu_are_both_kept() -> None:
    page = line("DCGM_FI_DEV_XID_ERRORS", 31, 0, 'err_code="31"') + line(
        "DCGM_FI_DEV_XID_ERRORS", 45, 0, 'err_code="45"'
    )
    scrape = read(page)
    assert (scrape.columns, scrape.named) == ({"230": [31]}, {'DCGM_FI_DEV_XID_ERRORS{err_code="45"}': [45]})


def test_a_field_that_dcgm_4_5_leaves_out_until_it_happens_is_absent_and_not_zero() -> None:
    reader = PageReader("target", "c")
    assert "230" not in read(line("DCGM_FI_DEV_GPU_TEMP", 50), reader).columns
    page = (
        line("DCGM_FI_DEV_GPU_TEMP", 50) + line("DCGM_FI_DEV_GPU_TEMP", 51, 1) + line("DCGM_FI_DEV_XID_ERRORS", 63, 1)
    )
    assert read(page, reader).columns["230"] == [None, 63]


def test_an_instance_without_utilisation_has_none_and_not_zero() -> None:
    mig = 'GPU_I_PROFILE="1g.10gb",GPU_I_ID="7"'
    page = line("DCGM_FI_DEV_GPU_UTIL", 97, 1) + line("DCGM_FI_PROF_SM_ACTIVE", "0.5", 0, mig)
    scrape = read(page)
    assert [gpu.mig for gpu in scrape.gpus] == [None, "1g.10gb/7"]
    assert scrape.columns == {"203": [97, None], "1002": [None, 0.5]}


def test_instances_of_flex_mode_need_no_row_of_their_gpu_and_share_its_uuid() -> None:
    page = "".join(
        line("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", 1, 0, f'GPU_I_PROFILE="1g.10gb",GPU_I_ID="{n}"') for n in (7, 8)
    )
    assert [(gpu.uuid, gpu.mig) for gpu in read(page).gpus] == [("GPU-0", "1g.10gb/7"), ("GPU-0", "1g.10gb/8")]


def test_an_activity_above_one_stays_as_it_was_told() -> None:
    assert read(line("DCGM_FI_PROF_SM_ACTIVE", "1.030000")).columns == {"1002": [1.03]}


def test_a_profiling_field_that_is_stuck_at_zero_is_zero_and_one_that_is_missing_is_absent() -> None:
    page = line("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "0.000000") + line(
        "DCGM_FI_PROF_PIPE_FP64_ACTIVE", "140737488355328.000000"
    )
    assert read(page).columns == {"1001": [0], "1006": [None]}


@pytest.mark.parametrize("name", ["PCIE_TX", "PCIE_RX", "NVLINK_TX", "NVLINK_RX"])
def test_profiled_bytes_are_rates(name: str) -> None:
    field = field_of(f"DCGM_FI_PROF_{name}_BYTES")
    assert field is not None
    assert (field.kind, field.unit) == ("gauge", "bytes/s")


def test_nvlink_bandwidth_is_kept_as_printed_whatever_the_page_calls_its_type() -> None:
    page = "# TYPE DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL counter\n" + line(
        "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", 5000000000
    )
    assert read(page).columns == {"449": [5000000000]}


def test_ecc_that_gives_way_to_nvlink_counts_is_absent() -> None:
    page = line("DCGM_FI_DEV_NVLINK_COUNT_TX_PACKETS", 9)
    assert read(page).columns == {"1200": [9]}


def test_switches_that_all_have_one_name_keep_the_first_and_say_so() -> None:
    name = "DCGM_FI_DEV_NVSWITCH_TEMPERATURE_CURRENT"
    page = "".join(f'{name}{{nvswitch="nvswitch0",Hostname="node-a"}} {value}\n' for value in (40, 39, 38))
    scrape = read(page)
    (switches,) = scrape.entities
    assert (switches.ids, switches.columns) == (["nvswitch0"], {"858": [40]})
    assert scrape.errors[name] == "printed again with another value; the first is kept"


def test_a_counter_that_falls_is_passed_on_as_it_is() -> None:
    reader, outlet = PageReader("target", "c"), ListOutlet()
    pages = [line("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", value) for value in (900, 12)]
    for page in pages:
        outlet.publish(GPU_SCRAPES, read(page, reader))
    assert [scrape.columns["156"] for scrape in outlet.of(GPU_SCRAPES)] == [[900], [12]]


def test_a_page_without_the_fields_that_dcgm_4_7_dropped_is_whole() -> None:
    scrape = read(line("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", 0))
    assert (sorted(scrape.columns), scrape.errors) == (["202"], {})


def test_where_prometheus_keeps_its_own_labels_an_idle_gpu_belongs_to_nobody() -> None:
    own = 'namespace="gpu-operator",pod="nvidia-dcgm-exporter-x7kq2",container="nvidia-dcgm-exporter"'
    page = line("DCGM_FI_DEV_GPU_TEMP", 50, 0, own)
    page += line("DCGM_FI_DEV_GPU_TEMP", 51, 1, f'{own},exported_pod="p",exported_namespace="n"')
    assert [(gpu.namespace, gpu.pod, gpu.container) for gpu in read(page).gpus] == [
        (None, None, None),
        ("n", "p", None),
    ]
    page = page.replace("nvidia-dcgm-exporter-x7kq2", "metrics-of-gpus")
    assert [gpu.pod for gpu in read(page).gpus] == [None, "p"]


def test_empty_labels_say_nothing() -> None:
    (gpu,) = read(line("DCGM_FI_DEV_GPU_TEMP", 50, 0, 'container="",namespace="",pod="",hpc_job=""')).gpus
    assert (gpu.container, gpu.namespace, gpu.pod, gpu.hpc_job) == (None, None, None, None)


def test_a_gpu_that_is_lost_moves_the_indexes_and_not_the_uuids() -> None:
    reader = PageReader("target", "c")
    before = "".join(line("DCGM_FI_DEV_GPU_TEMP", 50 + n, n, uuid=f"GPU-{'abc'[n]}") for n in range(3))
    after = line("DCGM_FI_DEV_GPU_TEMP", 50, 0, uuid="GPU-a") + line("DCGM_FI_DEV_GPU_TEMP", 52, 1, uuid="GPU-c")
    found = [{gpu.uuid: gpu.index for gpu in read(page, reader).gpus} for page in (before, after)]
    assert found == [{"GPU-a": 0, "GPU-b": 1, "GPU-c": 2}, {"GPU-a": 0, "GPU-c": 1}]


def test_an_address_has_the_form_of_the_kernel_log() -> None:
    (gpu,) = read('DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-0",pci_bus_id="00000000:1A:00.0"} 50\n').gpus
    assert gpu.pci == "0000:1a:00"


@pytest.mark.parametrize("host", ["dcgm-exporter-6ldbb", "nvidia-dcgm-exporter-cwbcm", "localhost"])
def test_what_names_no_node_gives_way_to_the_node_that_discovery_tells(host: str) -> None:
    page = f'DCGM_FI_DEV_GPU_TEMP{{gpu="0",UUID="GPU-0",Hostname="{host}"}} 50\n'
    (scrape,) = PageReader("gpu-17", "c").read(page.encode(), 7).scrapes
    assert scrape.node == "gpu-17"


def test_a_page_whose_last_line_has_no_end_loses_that_line_and_says_so() -> None:
    reader = PageReader("target", "c")
    whole = line("DCGM_FI_DEV_GPU_TEMP", 50) + line("DCGM_FI_DEV_SM_CLOCK", 1980)
    for page in (whole, whole[:-2]):
        parsed = reader.read(page.encode(), 7)
    assert parsed.scrapes[0].columns == {"150": [50]}
    assert [bad.why for bad in parsed.bad] == ["cut off: no line end"]


def test_a_page_of_mixed_times_is_of_the_time_it_was_read() -> None:
    page = line("DCGM_FI_DEV_GPU_TEMP", "50 1790000000000") + line("DCGM_FI_DEV_SM_CLOCK", 1980)
    assert read(page).ts_us == 7


def test_a_time_of_openmetrics_is_in_seconds() -> None:
    assert read(line("DCGM_FI_DEV_GPU_TEMP", "50 1790000000.25") + "# EOF\n").ts_us == 1_790_000_000_250_000


@pytest.mark.parametrize("time", ["99999999999999999999", "-5", "1790000000.5"])
def test_a_time_that_is_none_is_not_believed(time: str) -> None:
    assert read(line("DCGM_FI_DEV_GPU_TEMP", f"50 {time}")).ts_us == 7


def test_a_sweep_tells_bad_lines_and_still_publishes_the_good_ones() -> None:
    outlet = ListOutlet()
    sweep = Sweep(
        Target("t"),
        outlet,
        cluster="c",
        collector="dcgm@h",
        node="n",
        timeout_s=1.0,
        interval_s=1.0,
        pages=Given((line("DCGM_FI_DEV_GPU_TEMP", 50) + "rubbish\n").encode()),
    )
    sweep.start()
    assert [scrape.columns for scrape in outlet.of(GPU_SCRAPES)] == [{"150": [50]}]
    assert [(raw, why) for _, raw, why in outlet.rejected] == [(b"rubbish", "not a metric, its labels and a value")]
    assert [beat.ok for beat in outlet.beats] == [True]
