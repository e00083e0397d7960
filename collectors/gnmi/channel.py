"""A gRPC channel to one switch, and the Subscribe call on it: raw bytes both ways."""

import asyncio
import os
from typing import Any

# gRPC's core writes a line to stderr for each connection that ends; beats say it once an interval.
os.environ.setdefault("GRPC_VERBOSITY", "ERROR")

import grpc
import grpc.aio

from collectors.gnmi.target import Access, Target

LARGEST_MESSAGE = 64 * 1024 * 1024
"""Bytes. gRPC refuses more than 4 MB by default; SONiC answers a wildcard in one message."""
WINDOW = 1024 * 1024
"""Bytes on their way to us on one connection: a message of that size comes without a pause for a round trip."""
SUBSCRIBE = "/gnmi.gNMI/Subscribe"

# No keepalive pings: a Go server ends a quiet connection that pings it (GOAWAY too_many_pings). A peer
# that went silent is found by the time since its last message. gRPC's pings to find out how wide the window should be
# are counted by servers just so, and cost a third of the time of reading: the window is fixed instead.
_OPTIONS: tuple[tuple[str, int | str], ...] = (
    ("grpc.max_receive_message_length", LARGEST_MESSAGE),
    ("grpc.enable_retries", 0),
    ("grpc.http2.bdp_probe", 0),
    ("grpc.http2.lookahead_bytes", WINDOW),
    ("grpc.use_local_subchannel_pool", 1),
)


def dial(target: Target) -> Any:
    """A channel of its own for each attempt: gRPC's memory of failed attempts goes with it."""
    access = target.access
    if access.insecure:
        return grpc.aio.insecure_channel(target.address, options=_OPTIONS)
    credentials = grpc.ssl_channel_credentials(access.ca, access.key, access.cert)
    options = _OPTIONS
    if access.tls_name:
        options += (
            ("grpc.ssl_target_name_override", access.tls_name),
            ("grpc.default_authority", access.tls_name),
        )
    return grpc.aio.secure_channel(target.address, credentials, options=options)


async def subscribe(channel: Any, access: Access, request: bytes) -> Any:
    """A Subscribe call that was asked `request`. Raises `AioRpcError` where the switch refused it at once."""
    call = channel.stream_stream(SUBSCRIBE, request_serializer=None, response_deserializer=None)(
        metadata=_login(access)
    )
    try:
        await write(call, request)
    except grpc.aio.AioRpcError as why:
        if why.code() is not grpc.StatusCode.INTERNAL:
            raise
        call = in_one_piece(channel, access, request)
    return call


def in_one_piece(channel: Any, access: Access, request: bytes) -> Any:
    """The same call without a write of its own.

    A write that fails because the switch has refused already hides the refusal behind INTERNAL (grpc/grpc#36066).
    """
    return channel.unary_stream(SUBSCRIBE, request_serializer=None, response_deserializer=None)(
        request, metadata=_login(access)
    )


async def write(call: Any, raw: bytes) -> None:
    """One more request. A call that has ended takes none: how it ended is raised instead."""
    try:
        await call.write(raw)
    except asyncio.InvalidStateError:
        raise grpc.aio.AioRpcError(
            await call.code(), await call.initial_metadata(), await call.trailing_metadata(), await call.details()
        ) from None


def _login(access: Access) -> tuple[tuple[str, str], ...]:
    pairs = (("username", access.username), ("password", access.password))
    return tuple((name, value) for name, value in pairs if value is not None)
