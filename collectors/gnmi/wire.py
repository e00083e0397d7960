"""gNMI's messages, built from our own descriptors in a private pool.

Nothing clashes with another `gnmi.proto` in the process, and no generated code has to match a protobuf
version. `gnmi_lean.proto` is the readable form.
"""

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message, message_factory

DecodeError = message.DecodeError

PACKAGE = "gnmi_lean"
_F = descriptor_pb2.FieldDescriptorProto
_SCALARS = {
    "bytes": _F.TYPE_BYTES,
    "int64": _F.TYPE_INT64,
    "int32": _F.TYPE_INT32,
    "uint64": _F.TYPE_UINT64,
    "uint32": _F.TYPE_UINT32,
    "bool": _F.TYPE_BOOL,
    "float": _F.TYPE_FLOAT,
    "double": _F.TYPE_DOUBLE,
}

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
"""Message -> fields; `oneof NAME` first puts all of its fields into that group."""


def descriptors() -> descriptor_pb2.FileDescriptorSet:
    """The descriptor set of `MESSAGES`."""
    file = descriptor_pb2.FileDescriptorProto(name="gnmi_lean.proto", package=PACKAGE, syntax="proto3")
    for name, fields in MESSAGES.items():
        built = file.message_type.add(name=name)
        for text in fields:
            if text.startswith("oneof "):
                built.oneof_decl.add(name=text.split()[1])
                continue
            *label, kind, field, _, number = text.split()
            added = built.field.add(
                name=field,
                number=int(number),
                label=_F.LABEL_REPEATED if label else _F.LABEL_OPTIONAL,
                type=_SCALARS.get(kind, _F.TYPE_MESSAGE),
                type_name=None if kind in _SCALARS else f".{PACKAGE}.{kind}",
            )
            if built.oneof_decl:
                added.oneof_index = 0
    return descriptor_pb2.FileDescriptorSet(file=[file])


_pool = descriptor_pool.DescriptorPool()
for _file in descriptors().file:
    _pool.AddSerializedFile(_file.SerializeToString())


def _class(name: str) -> Any:
    return message_factory.GetMessageClass(_pool.FindMessageTypeByName(f"{PACKAGE}.{name}"))


Path = _class("Path")
TypedValue = _class("TypedValue")
Notification = _class("Notification")
SubscribeResponse = _class("SubscribeResponse")
SubscribeRequest = _class("SubscribeRequest")
