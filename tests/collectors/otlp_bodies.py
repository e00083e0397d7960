"""Bodies of OTLP metrics: samples as the Collector's Prometheus receiver sends what it scraped."""

from collections.abc import Iterable

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import DataPointFlags

from tests.collectors.remote_write_bodies import STALE, Sample


def otlp(samples: Iterable[Sample]) -> bytes:
    """One resource for each target, one metric for each sample; the value of STALE is the flag."""
    request = ExportMetricsServiceRequest()
    resources: dict[tuple[str, str], object] = {}
    for name, labels, value, ts_ms in samples:
        place = labels.get("job", ""), labels.get("instance", "")
        if place not in resources:
            part = request.resource_metrics.add()
            for key, text in zip(("service.name", "service.instance.id"), place, strict=True):
                part.resource.attributes.add(key=key).value.string_value = text
            resources[place] = part.scope_metrics.add()
        point = resources[place].metrics.add(name=name).gauge.data_points.add()  # type: ignore[attr-defined]
        point.time_unix_nano = ts_ms * 1_000_000
        for key, text in labels.items():
            if key not in ("job", "instance"):
                point.attributes.add(key=key).value.string_value = text
        if repr(value) == repr(STALE) and value != value:
            point.flags = DataPointFlags.DATA_POINT_FLAGS_NO_RECORDED_VALUE_MASK
        else:
            point.as_double = value
    return request.SerializeToString()
