"""Driver statistics of an interface by ioctl, as `ethtool -S` reads them, with the names kept.

The netlink interface has no per-priority pause. Constants and layouts: Linux include/uapi/linux/ethtool.h.
"""

import array
import fcntl
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass

SIOCETHTOOL = 0x8946
GSTRINGS, GSTATS, GSSET_INFO = 0x1B, 0x1D, 0x37
SS_STATS = 1
NAME_BYTES = 32
MOST = 1 << 16
"""Statistics of one interface. The kernel writes as many as the driver has by then, whatever was asked for, so the
buffer holds far more than any driver has (mlx5 with 128 channels: some 8000)."""
IFREQ = struct.Struct("16sQ16x")

Ioctl = Callable[[int, bytes], object]


class EthtoolError(OSError):
    """The driver has no statistics, or more than can be read."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """Names and values in the driver's order. `names` is the same object as long as the driver keeps its list."""

    names: tuple[str, ...]
    values: list[int]


class Ethtool:
    """One socket and one buffer for all interfaces; not for two threads at once."""

    def __init__(self, ioctl: Ioctl | None = None) -> None:
        """`ioctl(request, ifreq)` is what asks the kernel."""
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM) if ioctl is None else None
        if ioctl is None:
            assert self._socket is not None
            number = self._socket.fileno()
            ioctl = lambda request, ifreq: fcntl.ioctl(number, request, ifreq)  # noqa: E731
        self._ioctl = ioctl
        self._stats = array.array("Q", bytes(8 * (MOST + 1)))
        self._names: dict[str, tuple[str, ...]] = {}
        self._requests: dict[str, bytes] = {}

    def read(self, interface: str) -> Statistics:
        """One call, and three more when the driver's list is new or has changed. Raises `OSError`."""
        names = self._names.get(interface)
        if names is not None:
            values = self._ask_values(interface, len(names))
            if len(values) == len(names):
                return Statistics(names, values)
        names = self._names[interface] = self._ask_names(interface, self._ask_count(interface))
        values = self._ask_values(interface, len(names))
        if len(values) != len(names):
            self.forget(interface)
            raise EthtoolError(f"{interface}: the driver changed its list of statistics meanwhile")
        return Statistics(names, values)

    def forget(self, interface: str) -> None:
        """It has gone; another of its name may have another driver."""
        self._names.pop(interface, None)
        self._requests.pop(interface, None)

    def close(self) -> None:
        """Close the socket."""
        if self._socket is not None:
            self._socket.close()

    def _ask_values(self, interface: str, count: int) -> list[int]:
        """struct ethtool_stats: cmd, count, 64 bits a value. As many as the driver has now."""
        request = self._requests.get(interface)
        if request is None:
            request = self._requests[interface] = ifreq(interface, self._stats.buffer_info()[0])
        stats = self._stats
        stats[0] = GSTATS | (count << 32)  # two 32-bit words, little-endian as every host with GPUs is
        self._ioctl(SIOCETHTOOL, request)
        return stats[1 : (stats[0] >> 32) + 1].tolist()

    def _ask_count(self, interface: str) -> int:
        """struct ethtool_sset_info: cmd, reserved, u64 mask, one u32 a set in the mask."""
        count = array.array("I", [GSSET_INFO, 0, 1 << SS_STATS, 0, 0, 0])
        self._ioctl(SIOCETHTOOL, ifreq(interface, count.buffer_info()[0]))
        if not count[2] & (1 << SS_STATS):
            raise EthtoolError("the driver keeps no statistics")
        if count[4] > MOST // 2:
            raise EthtoolError(f"{count[4]} statistics, more than can be read")
        return count[4]

    def _ask_names(self, interface: str, count: int) -> tuple[str, ...]:
        """struct ethtool_gstrings: cmd, set, length, 32 bytes a name, ended by NUL."""
        names = array.array("B", bytes(12 + NAME_BYTES * (count + MOST // 4)))
        struct.pack_into("=III", names, 0, GSTRINGS, SS_STATS, count)
        self._ioctl(SIOCETHTOOL, ifreq(interface, names.buffer_info()[0]))
        told = struct.unpack_from("=I", names, 8)[0]
        if told != count:
            raise EthtoolError(f"{interface}: the driver changed its list of statistics meanwhile")
        raw = names.tobytes()[12 : 12 + NAME_BYTES * count]
        parts = (raw[at : at + NAME_BYTES] for at in range(0, len(raw), NAME_BYTES))
        return tuple(part.partition(b"\0")[0].decode("ascii", "replace").strip() for part in parts)


def ifreq(interface: str, address: int) -> bytes:
    """struct ifreq with the address of the command's own buffer."""
    return IFREQ.pack(interface.encode()[:15], address)
