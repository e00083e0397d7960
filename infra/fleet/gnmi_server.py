"""Simulated switches over real gRPC: one asyncio process serves many, a port each."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import grpc
import grpc.aio

from collectors.contract.errors import UserError
from collectors.gnmi import wire
from collectors.gnmi.path import GnmiPath, read_path
from infra.fleet.gnmi_frames import Frames, states
from infra.fleet.gnmi_sonic import SonicFrames
from infra.fleet.gnmi_switch import Readings, Switch

SHORTEST_S = 0.01
TARGET_DEFINED, ON_CHANGE = 0, 1
"""TARGET_DEFINED: states when they change, all else sampled."""
STREAM, ONCE = 0, 1
POLL_CHANGES_S = 1.0
_CAPABILITIES = b"\x12\x02\x02\x04" + b"\x1a\x05" + b"0.8.0"
"""A CapabilityResponse: encodings PROTO and JSON_IETF, gNMI 0.8.0. Some clients ask before they subscribe."""
_SYNC = wire.SubscribeResponse(sync_response=True).SerializeToString()


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """What a client must send as metadata."""

    username: str
    password: str


class _Request:
    """A SubscribeRequest as the server needs it: paths by interval, and those told on change."""

    def __init__(self, raw: bytes) -> None:
        listed = wire.SubscribeRequest.FromString(raw).subscribe
        self.prefix = read_path(listed.prefix)
        self.mode = listed.mode
        self.sampled: dict[float, list[GnmiPath]] = {}
        self.changed: list[GnmiPath] = []
        for wanted in listed.subscription:
            path = self.prefix + read_path(wanted.path)
            if wanted.mode in (TARGET_DEFINED, ON_CHANGE):
                self.changed.append(path)
            if wanted.mode != ON_CHANGE:
                interval_s = wanted.sample_interval / 1e9 or 1.0
                self.sampled.setdefault(interval_s, []).append(path)


class GnmiSwitch:
    """One running switch."""

    def __init__(
        self, switch: Switch, host: str, port: int, credentials: Any, login: Login | None, now_ns: Callable[[], int]
    ) -> None:
        self.switch = switch
        self.frozen = False
        """Connections stay and nothing is sent."""
        self._host, self._port = host, port
        self._credentials, self._login, self._now_ns = credentials, login, now_ns
        self._server: Any = None

    @property
    def address(self) -> str:
        """`host:port`; the same after `stop` and `start`."""
        return f"{self._host}:{self._port}"

    async def start(self) -> None:
        """Listen. Raises `UserError` when the port is taken."""
        # Without so_reuseport 0 a second server binds the same port and takes half of its clients.
        server = grpc.aio.server(options=(("grpc.so_reuseport", 0),))
        handlers = {
            "Subscribe": grpc.stream_stream_rpc_method_handler(self._subscribe),
            "Capabilities": grpc.unary_unary_rpc_method_handler(self._capabilities),
        }
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("gnmi.gNMI", handlers),))
        try:
            if self._credentials is None:
                self._port = server.add_insecure_port(self.address)
            else:
                self._port = server.add_secure_port(self.address, self._credentials)
        except RuntimeError as why:
            raise UserError(f"switch {self.switch.name}: cannot listen on {self.address}: {why}") from why
        await server.start()
        self._server = server

    async def stop(self) -> None:
        """End every stream and stop to listen."""
        if self._server is not None:
            await self._server.stop(None)
            self._server = None

    async def _subscribe(self, requests: AsyncIterator[bytes], context: Any) -> None:
        await self._check_login(context)
        async for raw in requests:
            try:
                request = _Request(raw)
            except wire.DecodeError as why:
                await context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"no SubscribeRequest: {why}")
            if request.mode not in (STREAM, ONCE):
                await context.abort(grpc.StatusCode.UNIMPLEMENTED, "POLL")
            if any(interval_s < SHORTEST_S for interval_s in request.sampled):
                await context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"interval under {SHORTEST_S} s")
            await self._answer(request, context)
            return

    async def _capabilities(self, _request: bytes, context: Any) -> bytes:
        await self._check_login(context)
        return _CAPABILITIES

    async def _check_login(self, context: Any) -> None:
        given = dict(context.invocation_metadata() or ())
        login = self._login
        if login is not None and (given.get("username"), given.get("password")) != (login.username, login.password):
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, "wrong user name or password")

    async def _answer(self, request: _Request, context: Any) -> None:
        """The snapshot, sync_response, then each path at its interval and each change."""
        samples = [
            _Sampled(interval_s, self._frames(paths, request.prefix)) for interval_s, paths in request.sampled.items()
        ]
        changes = _Changes(self.switch, Frames(self.switch, request.changed, request.prefix))
        clock = asyncio.get_running_loop().time
        await self._send(samples, changes, context)
        await context.write(_SYNC)
        if request.mode == ONCE:
            return
        begun = clock()
        for sampled in samples:
            sampled.due = begun + sampled.interval_s
        changes_due = begun + POLL_CHANGES_S
        while True:
            wake = min([sampled.due for sampled in samples], default=changes_due)
            if request.changed:
                wake = min(wake, changes_due)
            await asyncio.sleep(max(0.0, wake - clock()))
            now = clock()
            ready = [sampled for sampled in samples if sampled.due <= now]
            look = request.changed and changes_due <= now
            if not self.frozen:
                await self._send(ready, changes if look else None, context)
            for sampled in ready:
                sampled.due = _next(sampled.due, sampled.interval_s, now)
            if changes_due <= now:
                changes_due = _next(changes_due, POLL_CHANGES_S, now)

    async def _send(self, samples: Sequence["_Sampled"], changes: "_Changes | None", context: Any) -> None:
        ts_ns = self._now_ns()
        readings = self.switch.read(ts_ns // 1000)
        for sampled in samples:
            for raw in sampled.frames.render(ts_ns, readings):
                await context.write(raw)
        if changes is not None:
            for raw in changes.render(ts_ns, readings):
                await context.write(raw)

    def _frames(self, paths: Sequence[GnmiPath], prefix: GnmiPath) -> Frames | SonicFrames:
        if self.switch.dialect == "sonic":
            return SonicFrames(self.switch, paths, prefix)
        return Frames(self.switch, paths, prefix)


@dataclass(slots=True)
class _Sampled:
    interval_s: float
    frames: Frames | SonicFrames
    due: float = 0.0


class _Changes:
    """States, told when they differ from what was told before."""

    def __init__(self, switch: Switch, frames: Frames) -> None:
        self._switch = switch
        self._frames = frames
        self._told: dict[GnmiPath, str | int] = {}

    def render(self, ts_ns: int, readings: Readings) -> list[bytes]:
        """One notification of what changed."""
        if self._switch.dialect == "sonic":
            return []
        present = dict(states(self._switch, readings))
        new = {path: told for path, told in present.items() if self._told.get(path) != told}
        self._told = present
        return self._frames.texts(ts_ns, new.items())


def _next(due: float, interval_s: float, now: float) -> float:
    """The next time of a fixed rhythm; what was missed is not made up for."""
    return due + interval_s * max(1, 1 + int((now - due) / interval_s))


class GnmiFleet:
    """The running switches by name."""

    def __init__(self, switches: dict[str, GnmiSwitch]) -> None:
        self.switches = switches

    @property
    def addresses(self) -> dict[str, str]:
        """Switch -> `host:port`."""
        return {name: switch.address for name, switch in self.switches.items()}

    async def close(self) -> None:
        """Stop all."""
        await asyncio.gather(*(switch.stop() for switch in self.switches.values()))


async def serve(
    switches: Sequence[Switch],
    host: str = "127.0.0.1",
    base_port: int = 0,
    *,
    credentials: Any = None,
    login: Login | None = None,
    now_ns: Callable[[], int] = time.time_ns,
) -> GnmiFleet:
    """Listen for every switch: on free ports, or on `base_port` and those after it.

    `credentials` are gRPC server credentials; None is plain text. Raises `UserError` when a port is taken.
    """
    running = GnmiFleet(
        {
            switch.name: GnmiSwitch(switch, host, base_port + n if base_port else 0, credentials, login, now_ns)
            for n, switch in enumerate(switches)
        }
    )
    try:
        for one in running.switches.values():
            await one.start()
    except UserError:
        await running.close()
        raise
    return running
