"""One call to the kubelet's pod-resources socket: raw bytes."""

import os

# gRPC's core writes a line to stderr for each connection that ends; beats say it once a sweep.
os.environ.setdefault("GRPC_VERBOSITY", "ERROR")

import grpc
import grpc.aio

from collectors.source import SourceError

LIST = "/v1.PodResourcesLister/List"
LARGEST = 16 << 20
"""Bytes, as the kubelet's own client takes them."""
_OPTIONS: tuple[tuple[str, int | str], ...] = (
    ("grpc.max_receive_message_length", LARGEST),
    ("grpc.enable_retries", 0),
    ("grpc.use_local_subchannel_pool", 1),
    # gRPC would send the path of the socket, which strict servers refuse (grpc/grpc#38142).
    ("grpc.default_authority", "localhost"),
)
ADVICE = {
    grpc.StatusCode.UNIMPLEMENTED: "its kubelet is older than 1.20 or has KubeletPodResources switched off",
    grpc.StatusCode.RESOURCE_EXHAUSTED: "more than 16 MB, or it is asked too often",
}


async def list_pods(path: str, timeout_s: float) -> bytes:
    """On a connection of its own: a kubelet that was started anew has a new socket.

    Raises `SourceError`; whoever tells it names the socket.
    """
    if not os.path.exists(path):  # noqa: PTH110 (Path.exists raises where a folder may not be entered)
        raise SourceError("no such socket here; is this a Kubernetes node, and may we enter its folder?")
    async with grpc.aio.insecure_channel(f"unix:{path}", options=_OPTIONS) as channel:
        call = channel.unary_unary(LIST, request_serializer=None, response_deserializer=None)
        try:
            return bytes(await call(b"", timeout=timeout_s))
        except grpc.aio.AioRpcError as why:
            raise SourceError(_said(why, timeout_s)) from why


def _said(why: grpc.aio.AioRpcError, timeout_s: float) -> str:
    code = why.code()
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return f"the kubelet has not answered for {timeout_s:g} s"
    if code is grpc.StatusCode.UNAVAILABLE:
        return f"nobody answers there: {(why.details() or '').rpartition(': ')[2] or 'unavailable'}"
    said = f"{code.name}: {(why.details() or '')[:200]}"
    return f"{said}; {ADVICE[code]}" if code in ADVICE else said
