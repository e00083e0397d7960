"""Whatever a source sends, the GPU detectors survive it, keep little, and say each thing once."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.contract.gpu import Entities, Gpu, GpuScrape
from collectors.contract.kernel import KernelEvent
from collectors.contract.message import Message
from collectors.contract.topic import encode
from collectors.contract.topics import GPU_SCRAPES
from streams.detectors.all import detectors
from tests.streams.test_all_detectors import in_order

FIELDS = ("100", "112", "113", "153", "156", "203", "1002", "1424", "241", "1523")
MEMORY = ("310", "311", "312", "313", "346", "390", "391", "393", "395", "396", "1507")
LINKS = ("202", "235", "236", "237", "238", "409", "439", "1212", "1400", "155", "150", "1004", "158")
CELL = st.one_of(
    st.none(),
    st.sampled_from(
        [0.0, 1.0, -1.0, 64.0, 136.0, 0.95, 345.0, 1200.0, 1930.0, 2147483632.0, 9.223372036854775e18, 1e308]
    ),
    st.floats(allow_nan=False, allow_infinity=False),
)
GPUS = st.lists(
    st.builds(
        Gpu,
        uuid=st.sampled_from(["GPU-0", "GPU-1", "GPU-2", ""]),
        index=st.none() | st.integers(0, 9),
        model=st.sampled_from([None, "NVIDIA H100 80GB HBM3", "?"]),
        pci=st.sampled_from([None, "0000:1a:00", "0000:1b:00"]),
        mig=st.sampled_from([None, "1g.10gb/7"]),
    ),
    max_size=4,
)
PARTS = st.builds(
    Entities,
    kind=st.sampled_from(["nvlink", "nvswitch", "nvswitch_link", "cpu"]),
    ids=st.lists(st.sampled_from(["0", "1", "nvswitch0"]), max_size=4),
    parents=st.lists(st.sampled_from([None, "GPU-0", "nvswitch0"]), max_size=5),
    columns=st.dictionaries(
        st.sampled_from(["1508", "1527", "585", "870", "784", "864"]), st.lists(CELL, max_size=5), max_size=4
    ),
)
SCRAPE = st.builds(
    GpuScrape,
    node=st.just("n1"),
    ts_us=st.integers(0, 60).map(lambda s: s * 10_000_000),
    source=st.sampled_from(["dcgm-exporter", "nvml"]),
    gpus=GPUS,
    columns=st.dictionaries(st.sampled_from([*FIELDS, *MEMORY, *LINKS]), st.lists(CELL, max_size=5), max_size=12),
    named=st.dictionaries(
        st.sampled_from(["DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_L3", 'DCGM_EXP_CLOCK_EVENTS_COUNT{clock_event="x"}']),
        st.lists(CELL, max_size=5),
        max_size=2,
    ),
    entities=st.lists(PARTS, max_size=2),
)
EVENT = st.builds(
    KernelEvent,
    node=st.just("n1"),
    ts_us=st.integers(0, 60).map(lambda s: s * 10_000_000),
    kind=st.sampled_from(["xid", "sxid", "gpu_lost", "gap", "aer"]),
    code=st.sampled_from([None, 13, 45, 48, 79, 149, 154, 12028, 99999, -1]),
    pci=st.sampled_from([None, "0000:1a:00", "?"]),
    gpu_uuid=st.sampled_from([None, "GPU-0"]),
    detail=st.sampled_from(
        [
            None,
            "",
            "Fatal, x",
            "AER: Uncorrected (Fatal) error received",
            "recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)",
        ]
    ),
    raw=st.text(max_size=5),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.one_of(SCRAPE, EVENT), max_size=40))
def test_any_scrape_and_any_line_is_survived(messages: list[Message]) -> None:
    for detector in detectors():
        if GPU_SCRAPES not in detector.topics:
            continue
        state: Any = detector.fresh()
        for message in messages:
            state, found = detector.step(state, [message])
            for finding in found:
                encode(finding)
            kept = detector.keep(state)
            if kept is not None:
                assert len(kept) < 100_000
                again = detector.restore(kept)
                assert detector.keep(again) == kept
        found = detector.step(detector.fresh(), messages)[1]
        assert in_order([f for f in found if f.subject.kind != "node" or detector.name != "silence_node"])
