"""Protobuf messages from short tables of our own, each in a private pool.

Nothing clashes with another definition of the same messages in the process, and no generated code has to match a
protobuf version. The wire allows to read a sub-message, or text, as bytes: what is only compared is never decoded.
"""

from collections.abc import Mapping
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message, message_factory

DecodeError = message.DecodeError

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

Messages = Mapping[str, list[str]]
"""Message -> fields, as in a .proto file; `oneof NAME` first puts all of its fields into that group."""


def descriptors(package: str, messages: Messages) -> descriptor_pb2.FileDescriptorSet:
    """The descriptor set of these messages."""
    file = descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto3")
    for name, fields in messages.items():
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
                type_name=None if kind in _SCALARS else f".{package}.{kind}",
            )
            if built.oneof_decl:
                added.oneof_index = 0
    return descriptor_pb2.FileDescriptorSet(file=[file])


def classes(package: str, messages: Messages) -> dict[str, Any]:
    """The classes of these messages, by name."""
    pool = descriptor_pool.DescriptorPool()
    for file in descriptors(package, messages).file:
        pool.AddSerializedFile(file.SerializeToString())
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}")) for name in messages}
