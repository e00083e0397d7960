"""One switch port: traffic, pause, marks, drops and errors, by what is wrong with it."""

import random
from dataclasses import dataclass

from infra.fleet.noise import poisson

FRAME_BYTES = 4096 + 62
"""An RDMA packet of a 4096-byte MTU with its headers."""
LOSSLESS_PRIORITY = 3
MOVED_UNDER_STORM = 0.9
"""Held for this share of the time and more, a queue moves nothing."""
PAUSE_FRAMES_S = 5000.0
"""Pause frames a second that hold a port for all of it, each for its full time or less."""

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
    "pfc_tx_pause_us.3",
    "port_rx_fcs_error_frames",
    "fec_uncorrected_codewords",
    "port_link_down_events",
)
"""Canonical counters of a port, in the order of `Port.values`."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """What is wrong with a port now. Rates are a second; shares are of the time."""

    drops: float = 0.0
    """Packets of the lossless queue that the switch drops."""
    broken: float = 0.0
    """Frames that come in broken."""
    held: float = 0.0
    """Share for which the other end holds it."""
    holds: float = 0.0
    """Share for which it holds the other end."""
    down: bool = False


SOUND = Trouble()


class Port:
    """`tick` moves it on; `values` are its counters."""

    __slots__ = ("_noise", "_rng", "up", "values")

    def __init__(self, rng: random.Random, noise: float) -> None:
        self._rng = rng
        self._noise = noise
        # Counters of a switch that has been up for a while.
        past = rng.randrange(10**11, 10**13)
        self.values = [past, past, past // FRAME_BYTES, past // FRAME_BYTES, *([0] * (len(COUNTERS) - 4))]
        self.values[13] = self.values[3]
        self.values[14] = past
        self.up = True

    def tick(self, dt_s: float, bytes_per_s: float, trouble: Trouble = SOUND) -> None:
        """Move on by `dt_s`: traffic towards (and from) the other end, and what is wrong."""
        rng, v = self._rng, self.values
        if self.up and trouble.down:
            v[20] += 1
        self.up = not trouble.down
        if trouble.down:
            return
        sending = bytes_per_s * (0.0 if trouble.held >= MOVED_UNDER_STORM else 1.0 - trouble.held)
        sent = int(sending * dt_s * (1.0 + rng.gauss(0.0, 0.01 * self._noise)))
        got = int(bytes_per_s * dt_s * (1.0 + rng.gauss(0.0, 0.01 * self._noise)))
        house = poisson(rng, 4.0 * dt_s)  # LLDP, ARP and the like, on the lossy queue
        frames, frames_in = sent // FRAME_BYTES, got // FRAME_BYTES
        dropped = poisson(rng, trouble.drops * dt_s) if sent else 0
        # A lossy queue may drop now and then, and must page nobody.
        lossy = poisson(rng, 0.002 * dt_s * self._noise)
        paused = poisson(rng, (bytes_per_s / 2e8 + 20.0 * (trouble.drops if sent else 0.0)) * dt_s)
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
        if trouble is not SOUND:
            self._trouble(dt_s, trouble)

    def _trouble(self, dt_s: float, trouble: Trouble) -> None:
        """Pause and broken frames. Of ten broken frames about one codeword was beyond the code's help."""
        rng, v = self._rng, self.values
        broken = poisson(rng, trouble.broken * dt_s)
        v[6] += broken
        v[18] += broken
        v[19] += poisson(rng, trouble.broken * dt_s / 10.0)
        v[7] += int(PAUSE_FRAMES_S * trouble.held * dt_s)
        v[9] += int(trouble.held * dt_s * 1e6)
        v[8] += int(PAUSE_FRAMES_S * trouble.holds * dt_s)
        v[17] += int(trouble.holds * dt_s * 1e6)
