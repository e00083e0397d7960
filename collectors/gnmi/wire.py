"""gNMI's messages, built from our own descriptors. `gnmi_lean.proto` is the readable form."""

from collectors import lean_proto

DecodeError = lean_proto.DecodeError

PACKAGE = "gnmi_lean"

MESSAGES: dict[str, list[str]] = {
    "Key": ["bytes key = 1", "bytes value = 2"],
    "PathElem": ["bytes name = 1", "repeated Key key = 2"],
    "Path": ["repeated bytes element = 1", "bytes origin = 2", "repeated PathElem elem = 3", "bytes target = 4"],
    "Decimal64": ["int64 digits = 1", "uint32 precision = 2"],
    "ScalarArray": ["repeated TypedValue element = 1"],
    "TypedValue": [
        "oneof value",
        "bytes string_val = 1",
        "int64 int_val = 2",
        "uint64 uint_val = 3",
        "bool bool_val = 4",
        "bytes bytes_val = 5",
        "float float_val = 6",
        "Decimal64 decimal_val = 7",
        "ScalarArray leaflist_val = 8",
        "bytes any_val = 9",
        "bytes json_val = 10",
        "bytes json_ietf_val = 11",
        "bytes ascii_val = 12",
        "bytes proto_bytes = 13",
        "double double_val = 14",
    ],
    "OldValue": ["bytes value = 1", "int32 type = 2"],
    "Update": ["bytes path = 1", "OldValue value = 2", "TypedValue val = 3", "uint32 duplicates = 4"],
    "Notification": [
        "int64 timestamp = 1",
        "bytes prefix = 2",
        "repeated Update update = 4",
        "repeated bytes delete = 5",
        "bool atomic = 6",
    ],
    "Error": ["uint32 code = 1", "bytes message = 2"],
    "SubscribeResponse": [
        "oneof response",
        "Notification update = 1",
        "bool sync_response = 3",
        "Error error = 4",
    ],
    "Subscription": [
        "bytes path = 1",
        "int32 mode = 2",
        "uint64 sample_interval = 3",
        "bool suppress_redundant = 4",
        "uint64 heartbeat_interval = 5",
    ],
    "SubscriptionList": [
        "bytes prefix = 1",
        "repeated Subscription subscription = 2",
        "int32 mode = 5",
        "bool allow_aggregation = 6",
        "int32 encoding = 8",
        "bool updates_only = 9",
    ],
    "SubscribeRequest": ["oneof request", "SubscriptionList subscribe = 1", "bytes poll = 3"],
}


_classes = lean_proto.classes(PACKAGE, MESSAGES)

Path = _classes["Path"]
TypedValue = _classes["TypedValue"]
Notification = _classes["Notification"]
SubscribeResponse = _classes["SubscribeResponse"]
SubscribeRequest = _classes["SubscribeRequest"]
