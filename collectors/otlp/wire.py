"""OTLP's messages as its own package carries them, and the status of a refusal."""

from collectors import lean_proto

DecodeError = lean_proto.DecodeError

Status = lean_proto.classes("otlp_lean", {"Status": ["int32 code = 1", "bytes message = 2"]})["Status"]
"""`google.rpc.Status`, the body of an answer that is no success (OTLP, "Failures")."""

INVALID_ARGUMENT, UNAVAILABLE = 3, 14


def refusal(code: int, why: str) -> bytes:
    """The body of a refusal."""
    body: bytes = Status(code=code, message=why.encode()).SerializeToString()
    return body
