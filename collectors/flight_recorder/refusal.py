"""Why an opcode is not carried out, in words that name what it asks for."""

from collections.abc import Sequence

from collectors.flight_recorder.bounds import DumpError, HostileError

_LIVE = {
    ord("R"): "REDUCE",
    ord("b"): "BUILD",
    ord("o"): "OBJ",
    ord("P"): "PERSID",
    ord("Q"): "BINPERSID",
    0x81: "NEWOBJ",
    0x92: "NEWOBJ_EX",
    0x82: "EXT1",
    0x83: "EXT2",
    0x84: "EXT4",
}


def refusal(code: int, at: int, raw: bytes, stack: Sequence[object]) -> DumpError:
    """The error for an opcode that stands at byte `at`, and what stands before or after it."""
    if code in (ord("c"), ord("i")):
        wanted = raw[at + 1 : at + 201].split(b"\n")[:2]
        return HostileError(f"byte {at}: it asks for {_show(b'.'.join(wanted))}")
    if code == 0x93:
        names = [name for name in stack[-2:] if isinstance(name, str)]
        return HostileError(f"byte {at}: it asks for {_show('.'.join(names))}")
    if code in _LIVE:
        return HostileError(f"byte {at}: {_LIVE[code]} builds or calls something")
    return DumpError(f"byte {at}: opcode 0x{code:02x} is not one of a dump")


def _show(name: bytes | str) -> str:
    text = name.decode("utf-8", "replace") if isinstance(name, bytes) else name
    return text.encode("ascii", "backslashreplace").decode()[:80]
