"""OTLP over gRPC: `MetricsService/Export`, raw bytes in."""

import argparse
import os
from collections.abc import Awaitable, Callable
from typing import Any

from collectors.defect import defect
from collectors.otlp.metrics import read_otlp
from collectors.remote_write.access import gate
from collectors.remote_write.intake import SOURCE, Intake
from collectors.remote_write.limits import MOST_BODY, TooLarge, within
from collectors.remote_write.pushed import BadBody
from collectors.source import SourceError

SERVICE = "opentelemetry.proto.collector.metrics.v1.MetricsService"
STOP_S = 1.0
AT_ONCE = 64
"""Exports under way at once; gRPC turns further ones away, and their senders come again."""


async def grpc_server(
    args: argparse.Namespace, intake: Intake, host: str, port: int
) -> tuple[int, Callable[[], Awaitable[None]]]:
    """Listen; the port, and what stops it. Raises `SourceError`."""
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
    import grpc
    import grpc.aio

    may = gate(args)

    async def export(body: bytes, context: Any) -> bytes:
        peer = context.peer()
        shown = next((str(value) for key, value in context.invocation_metadata() if key == "authorization"), None)
        if not may(shown):
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, "no, or a wrong, authorization")
        try:
            pushed = within(read_otlp(body, intake.book))
        except (BadBody, TooLarge) as why:
            intake.refuse(peer, body, str(why))
            intake.fail(peer, str(why))
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(why))
            raise
        except Exception as why:
            said = defect(f"{SOURCE}:{peer}", why)
            intake.refuse(peer, body, said)
            intake.fail(peer, said)
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, said)
            raise
        if not await intake.take(pushed, len(body)):
            intake.fail(peer, "Kafka has not taken it")
            await context.abort(grpc.StatusCode.UNAVAILABLE, "Kafka has not taken it; send it again")
        return b""

    server = grpc.aio.server(
        options=(("grpc.max_receive_message_length", MOST_BODY), ("grpc.so_reuseport", 0)),
        maximum_concurrent_rpcs=AT_ONCE,
    )
    handler = grpc.unary_unary_rpc_method_handler(export)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, {"Export": handler}),))
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    try:
        if args.cert is None:
            bound = server.add_insecure_port(address)
        else:
            ca = args.client_ca.read_bytes() if args.client_ca is not None else None
            pair = (args.key or args.cert).read_bytes(), args.cert.read_bytes()
            credentials = grpc.ssl_server_credentials([pair], ca, require_client_auth=ca is not None)
            bound = server.add_secure_port(address, credentials)
    except (RuntimeError, OSError) as why:
        raise SourceError(f"--otlp-grpc {address}: cannot listen there: {why}") from why
    await server.start()

    async def stop() -> None:
        await server.stop(STOP_S)

    return bound, stop
