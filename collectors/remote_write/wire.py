"""Remote write's messages, built from our own descriptors. `remote_write_lean.proto` is the readable form."""

from collectors import lean_proto

DecodeError = lean_proto.DecodeError

MESSAGES: dict[str, list[str]] = {
    "Sample": ["double value = 1", "int64 timestamp = 2"],
    "Label": ["bytes name = 1", "bytes value = 2"],
    "WriteRequest": ["repeated bytes timeseries = 1"],
    "TimeSeries": [
        "repeated Label labels = 1",
        "repeated Sample samples = 2",
        "repeated bytes exemplars = 3",
        "repeated bytes histograms = 4",
    ],
    "RequestV2": ["repeated bytes symbols = 4", "repeated bytes timeseries = 5"],
    "Refs": ["repeated uint32 labels_refs = 1"],
    "TimeSeriesV2": [
        "repeated uint32 labels_refs = 1",
        "repeated Sample samples = 2",
        "repeated bytes histograms = 3",
        "repeated bytes exemplars = 4",
    ],
}

_classes = lean_proto.classes("remote_write_lean", MESSAGES)

WriteRequest = _classes["WriteRequest"]
TimeSeries = _classes["TimeSeries"]
RequestV2 = _classes["RequestV2"]
Refs = _classes["Refs"]
TimeSeriesV2 = _classes["TimeSeriesV2"]
