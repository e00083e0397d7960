"""Bodies of remote write and OTLP, packed and unpacked, and answers of a query, into scrapes."""

import asyncio
import gzip
import json
from collections.abc import Callable, Hashable, Mapping

from collectors.contract.gpu import GpuScrape
from collectors.contract.topics import GPU_SCRAPES
from collectors.otlp.metrics import read_otlp
from collectors.prometheus.answer import BadAnswer, read_answer
from collectors.prometheus.history import History
from collectors.remote_write.limits import TooLarge
from collectors.remote_write.pushed import MOST_MS, BadBody, Pushed, read_v1, read_v2
from collectors.remote_write.receiver import Receiver
from collectors.remote_write.recorded import read_any
from collectors.remote_write.series import SeriesBook
from tests.collectors.list_outlet import ListOutlet
from tests.collectors.otlp_bodies import otlp
from tests.collectors.remote_write_bodies import STALE, T_MS, TEMP, Sample, gpu, scrape, snappy, v1, v2
from tests.fuzz.parser import Parser

Read = Callable[[bytes, SeriesBook], Pushed]
_MEGATRON = {"job": "train", "instance": "n7:1", "nemo_run_id": "r"}
_STEP = "megatron_training_step_duration_ms_milliseconds"
_SAMPLES: list[Sample] = [
    *scrape(T_MS, 41.5, pod="p", namespace="a"),
    *scrape(T_MS + 15_000, 42.0),
    (TEMP, gpu(2), STALE, T_MS),
    (TEMP, gpu(3), float("nan"), T_MS),
    ("DCGM_FI_DEV_XID_ERRORS", {**gpu(0), "err_code": "31", "err_msg": 'a "b"\nc'}, 31.0, T_MS),
    ("up", {"job": "dcgm", "instance": "n1:9400"}, 1.0, T_MS),
    *((f"{_STEP}_{part}", _MEGATRON, value, T_MS) for part, value in (("sum", 2000.0), ("count", 1.0))),
    *((f"{_STEP}_{part}", _MEGATRON, value, T_MS + 1) for part, value in (("sum", 5000.0), ("count", 2.0))),
]


def _taken(read: Read) -> Callable[[bytes], ListOutlet]:
    """Twice, so that what is known is read too."""

    def parse(data: bytes) -> ListOutlet:
        outlet, book = ListOutlet(), SeriesBook()
        receiver = Receiver(outlet, "c")
        for _ in range(2):
            try:
                pushed = read(data, book)
            except (BadBody, TooLarge) as why:
                outlet.reject("remote-write:fuzz", data, str(why))
                continue
            asyncio.run(receiver.accept(pushed))
        asyncio.run(receiver.flush())
        return outlet

    return parse


def _history(data: bytes) -> ListOutlet:
    outlet = ListOutlet()
    try:
        answer = read_answer(data)
    except BadAnswer as why:
        outlet.reject("prometheus:fuzz", data, str(why))
        return outlet
    for topic, message in History("c").messages(answer.data.result, 0, MOST_MS):
        outlet.publish(topic, message)
    return outlet


def _numbers(outlet: ListOutlet) -> Mapping[Hashable, float | None]:
    whole: list[GpuScrape] = [one for one in outlet.of(GPU_SCRAPES) if not one.part]
    return {
        (one.node, one.ts_us, name, gpu.uuid): value
        for one in whole
        for name, values in one.columns.items()
        for gpu, value in zip(one.gpus, values, strict=True)
    }


_MATRIX = [
    {"metric": {"__name__": name} | dict(labels), "values": [[ts_ms / 1000, repr(value)], [ts_ms / 1000 + 15, "NaN"]]}
    for name, labels, value, ts_ms in scrape(T_MS, 41.5)
]
_ANSWER = {"status": "success", "data": {"resultType": "matrix", "result": _MATRIX}, "warnings": ["w"]}

PARSERS: tuple[Parser, ...] = (
    Parser("remote write 1.0, unpacked", (v1(_SAMPLES), v1(_SAMPLES[:1])), _taken(read_v1), _numbers),
    Parser("remote write 2.0, unpacked", (v2(_SAMPLES), v2(_SAMPLES[:1])), _taken(read_v2), _numbers),
    Parser("otlp, unpacked", (otlp(_SAMPLES), otlp(_SAMPLES[:1])), _taken(read_otlp), _numbers),
    Parser(
        "remote write and otlp, packed",
        (snappy(v1(_SAMPLES)), snappy(v2(_SAMPLES)), gzip.compress(otlp(_SAMPLES), mtime=0), otlp(_SAMPLES)),
        _taken(read_any),
        _numbers,
    ),
    Parser("prometheus answer", (json.dumps(_ANSWER).encode(),), _history, _numbers),
)
