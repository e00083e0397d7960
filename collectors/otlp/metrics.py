"""An export request of OTLP metrics into samples by scrape, as remote write's requests are read.

What the Collector's Prometheus receiver read keeps the names and labels of its page; the target is told by the
resource: `service.name` and `service.instance.id` are `job` and `instance`, a stale series has the flag for
"no recorded value" (OpenTelemetry, "Prometheus and OpenMetrics compatibility").
"""

from collections.abc import Iterator
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from collectors.otlp.wire import DecodeError
from collectors.remote_write.pushed import STALE, BadBody, Pushed
from collectors.remote_write.series import NOT_OURS, SeriesBook, kind_of

CUMULATIVE = 2
NO_VALUE = 1
"""`AGGREGATION_TEMPORALITY_CUMULATIVE`, `DATA_POINT_FLAGS_NO_RECORDED_VALUE_MASK` (metrics.proto)."""
NO_TIME, DELTA = "no time", "sum since the last export"
_NO_BYTES = b"\x00" * 8
_NAN = float("nan")


def read_otlp(body: bytes, book: SeriesBook) -> Pushed:
    """`ExportMetricsServiceRequest`. Raises `BadBody`; then nothing of it counts."""
    out = Pushed()
    try:
        request = ExportMetricsServiceRequest.FromString(body)
    except DecodeError as why:
        raise BadBody(f"not an ExportMetricsServiceRequest: {why}") from why
    for part in request.resource_metrics:
        resource = _texts(part.resource.attributes)
        place = part.resource.SerializeToString()
        for scope in part.scope_metrics:
            for metric in scope.metrics:
                _read_metric(metric, resource, place, book, out)
    return out


def _read_metric(metric: Any, resource: dict[str, str], place: bytes, book: SeriesBook, out: Pushed) -> None:
    kind = metric.WhichOneof("data")
    points = getattr(metric, kind).data_points if kind else ()
    for name, point, value in _readings(metric, kind, points):
        if kind_of(name) is None:
            out.samples += 1
            out.ignored[NOT_OURS] += 1
            continue
        key = place, name, b"".join(one.SerializeToString() for one in point.attributes)
        series = book.learn(key, lambda name=name, point=point: _labels(name, point, resource))  # type: ignore[misc]
        if point.time_unix_nano == 0:
            out.samples += 1
            out.ignored[NO_TIME] += 1
        elif point.flags & NO_VALUE:
            out.add(series, point.time_unix_nano // 1_000_000, _NAN, STALE)
        else:
            out.add(series, point.time_unix_nano // 1_000_000, value, _NO_BYTES)
    if kind in ("histogram", "sum") and getattr(metric, kind).aggregation_temporality != CUMULATIVE:
        out.ignored[DELTA] += len(points)


def _readings(metric: Any, kind: str | None, points: Any) -> Iterator[tuple[str, Any, float]]:
    """Name, point and number; a histogram is its sum and its count, as Prometheus shows one."""
    if kind in ("gauge", "sum"):
        if kind == "sum" and metric.sum.aggregation_temporality != CUMULATIVE:
            return
        for point in points:
            arm = point.WhichOneof("value")
            yield metric.name, point, float(getattr(point, arm)) if arm else _NAN
    elif kind == "histogram":
        if metric.histogram.aggregation_temporality != CUMULATIVE:
            return
        for point in points:
            yield f"{metric.name}_sum", point, point.sum if point.HasField("sum") else _NAN
            yield f"{metric.name}_count", point, float(point.count)
    else:
        for point in points:
            yield metric.name, point, _NAN


def _labels(name: str, point: Any, resource: dict[str, str]) -> dict[str, str]:
    """A job tells itself by its resource; of a target that a Collector scraped, the resource tells the Collector's
    view, of which only the target's own name is true of the GPUs."""
    labels = dict(resource) if kind_of(name) == "job" else {}
    service, instance = resource.get("service.name", ""), resource.get("service.instance.id", "")
    space = resource.get("service.namespace")
    if service:
        labels["job"] = f"{space}/{service}" if space else service
    if instance:
        labels["instance"] = instance
    return {**labels, **_texts(point.attributes), "__name__": name}


def _texts(attributes: Any) -> dict[str, str]:
    return {one.key: _text(one.value) for one in attributes}


def _text(value: Any) -> str:
    arm = value.WhichOneof("value")
    return "" if arm is None else str(getattr(value, arm))
