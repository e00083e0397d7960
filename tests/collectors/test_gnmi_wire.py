"""Our descriptors against their readable form."""

import re
from pathlib import Path

import collectors.gnmi.wire as wire


def test_the_proto_file_and_the_descriptors_say_the_same() -> None:
    text = re.sub(r"//.*", "", Path(wire.__file__).with_name("gnmi_lean.proto").read_text())
    written: dict[str, list[str]] = {}
    for name, body in re.findall(r"message (\w+) \{(.*?)\n\}", text, re.DOTALL):
        lines = [line.strip(" ;{}") for line in body.splitlines()]
        written[name] = [line for line in lines if line]
    assert written == wire.MESSAGES


def test_a_path_is_bytes_and_a_message_at_once() -> None:
    response = wire.SubscribeResponse()
    path = wire.Path()
    path.elem.add(name=b"interfaces")
    response.update.update.add(path=path.SerializeToString()).val.uint_val = 2**64 - 1
    read = wire.SubscribeResponse.FromString(response.SerializeToString()).update.update[0]
    assert (read.path, read.val.uint_val) == (path.SerializeToString(), 2**64 - 1)


def test_another_arm_of_a_value_is_not_a_zero() -> None:
    value = wire.TypedValue(string_val=b"17")
    assert (value.uint_val, value.WhichOneof("value")) == (0, "string_val")
