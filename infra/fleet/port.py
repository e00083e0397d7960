"""One switch port towards a NIC: traffic of the job behind it, pause, marks and drops."""

import random

from infra.fleet.noise import poisson

FRAME_BYTES = 4096 + 62
"""An RDMA packet of a 4096-byte MTU with its headers."""
LOSSLESS_PRIORITY = 3

COUNTERS = (
    "port_rx_bytes",
    "port_tx_bytes",
    "port_rx_packets",
    "port_tx_packets",
    "port_rx_discard_packets",
    "port_tx_discard_packets",
    "port_rx_error_packets",
    "pfc_rx_frames.3",
    "pfc_tx_frames.3",
    "pfc_rx_pause_us.3",
    "queue_tx_packets.0",
    "queue_tx_bytes.0",
    "queue_drop_packets.0",
    "queue_tx_packets.3",
    "queue_tx_bytes.3",
    "queue_drop_packets.3",
    "queue_ecn_marked_packets.3",
)
"""Canonical counters of a port, in the order of `Port.values`."""


class Port:
    """`tick` moves it on; `values` are its counters."""

    __slots__ = ("_noise", "_rng", "values")

    def __init__(self, rng: random.Random, noise: float) -> None:
        self._rng = rng
        self._noise = noise
        # Counters of a switch that has been up for a while.
        past = rng.randrange(10**11, 10**13)
        self.values = [past, past, past // FRAME_BYTES, past // FRAME_BYTES, *([0] * (len(COUNTERS) - 4))]
        self.values[13] = self.values[3]
        self.values[14] = past

    def tick(self, dt_s: float, bytes_per_s: float, drops_per_s: float) -> None:
        """Move on by `dt_s`: traffic towards (and from) the host, and drops on the lossless queue."""
        rng, v = self._rng, self.values
        sent = int(bytes_per_s * dt_s * (1.0 + rng.gauss(0.0, 0.01 * self._noise)))
        got = int(bytes_per_s * dt_s * (1.0 + rng.gauss(0.0, 0.01 * self._noise)))
        house = poisson(rng, 4.0 * dt_s)  # LLDP, ARP and the like, on the lossy queue
        frames, frames_in = sent // FRAME_BYTES, got // FRAME_BYTES
        dropped = poisson(rng, drops_per_s * dt_s)
        # A lossy queue may drop now and then, and must page nobody.
        lossy = poisson(rng, 0.002 * dt_s * self._noise)
        paused = poisson(rng, (bytes_per_s / 2e8 + 20.0 * drops_per_s) * dt_s)
        v[0] += got + house * 300
        v[1] += sent + house * 300
        v[2] += frames_in + house
        v[3] += frames + house
        v[5] += dropped + lossy
        v[7] += poisson(rng, bytes_per_s / 1e9 * dt_s)
        v[8] += paused
        v[9] += v[7] % 3
        v[10] += house
        v[11] += house * 300
        v[12] += lossy
        v[13] += frames
        v[14] += sent
        v[15] += dropped
        v[16] += poisson(rng, bytes_per_s / 5e8 * dt_s)
