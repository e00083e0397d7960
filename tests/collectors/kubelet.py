"""A kubelet's pod-resources socket, served by gRPC; its answers are bytes."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import grpc.aio

from collectors.attribution.pod_resources import ListResponse

Answer = Callable[[bytes], Awaitable[bytes]]


def pod_list(*pods: tuple[str, str, dict[str, list[str]]]) -> bytes:
    """(namespace, pod, container -> device ids); under the resource name that NVIDIA's plug-in gives."""
    out = ListResponse()
    for namespace, name, containers in pods:
        pod = out.pods.add(name=name.encode(), namespace=namespace.encode())
        for container, ids in containers.items():
            one = pod.containers.add(name=container.encode())
            if ids:
                one.devices.add(resource_name=b"nvidia.com/gpu", device_ids=[device.encode() for device in ids])
    raw: bytes = out.SerializeToString()
    return raw


@asynccontextmanager
async def kubelet(path: Path, answer: Answer, version: str = "v1") -> AsyncIterator[list[str]]:
    """Serves on a Unix socket; what was called."""
    asked: list[str] = []

    async def listed(request: bytes, context: Any) -> bytes:
        del context
        asked.append("List")
        return await answer(request)

    handler = grpc.method_handlers_generic_handler(
        f"{version}.PodResourcesLister",
        {"List": grpc.unary_unary_rpc_method_handler(listed, request_deserializer=None, response_serializer=None)},
    )
    server = grpc.aio.server(options=[("grpc.max_send_message_length", -1)])
    server.add_generic_rpc_handlers((handler,))
    server.add_insecure_port(f"unix:{path}")
    await server.start()
    try:
        yield asked
    finally:
        await server.stop(0)


async def never(_: bytes) -> bytes:
    """Hangs until its caller has gone."""
    await asyncio.Event().wait()
    return b""
