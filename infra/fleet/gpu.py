"""The physics of one GPU: what it is asked to do and how it is cooled, in; clocks, heat, power and errors, out.

Numbers are those of an H100 SXM: 1980/2619 MHz, 700 W, idle 345 MHz and 69 W, 81559 MiB, slowdown at a
thermal margin of 0, which stands 58 degrees above 29 C (nvidia-smi -q captures in NVIDIA/k8s-test-infra).
"""

import math
import random
from dataclasses import dataclass

from infra.fleet.noise import Drift, poisson

MAX_SM_MHZ = 1980.0
MEM_MHZ = 2619.0
IDLE_SM_MHZ = 345.0
IDLE_W = 69.0
LIMIT_W = 700.0
SLOWDOWN_C = 87.0
FB_MIB = 81559
FB_RESERVED_MIB = 551
BANKS = 2560
MOST_ROWS = 512
"""That a GPU remaps (NVIDIA GPU Memory Error Management)."""
CLOCK_STEP_MHZ = 15.0
QUIET_S = 7 * 86_400.0
"""Between two corrected errors of a GPU that has a past and is well, on average: our choice, seldom enough that a
week of them is no trend."""
PCIE_GEN, PCIE_IDLE_GEN, PCIE_LANES = 5, 1, 16
"""An idle GPU lets its PCIe link fall to the first generation to save power."""
NVLINKS = 18

# Bits of field 112 (NVML clocks event reasons).
GPU_IDLE = 0x1
SW_POWER_CAP = 0x4
HW_SLOWDOWN = 0x8
SW_THERMAL = 0x20
HW_THERMAL = 0x40
HW_POWER_BRAKE = 0x80

HALF_CLOCK = 0.4
"""A loss of clock from here on is the hardware's slowdown, not the driver's."""


@dataclass(frozen=True, slots=True)
class Load:
    """What a GPU does: shares of the time (their sum is at most 1), and the job it does it for."""

    compute: float = 0.0
    wait: float = 0.0
    transfer: float = 0.0
    job: str | None = None


IDLE = Load()


@dataclass(frozen=True, slots=True)
class Stress:
    """What is wrong with a GPU now: clock shares lost to heat, brake and a lock, corrected errors a second."""

    thermal: float = 0.0
    brake: float = 0.0
    lock: float = 0.0
    sbe_per_s: float = 0.0
    replays_per_s: float = 0.0
    """Over PCIe."""
    crc_per_s: float = 0.0
    """On NVLink."""
    c2c_per_s: float = 0.0
    """Between a Grace CPU and its GPU."""
    lanes: int = PCIE_LANES
    """PCIe lanes in use."""
    links_down: int = 0
    """NVLinks."""
    cap: float = 0.0
    """Share of the power limit that was taken away."""
    hard: float = 0.0
    """Share of the clock lost to the hardware's slowdown alone."""


CALM = Stress()


class Gpu:
    """One GPU. `tick` moves it on; the attributes are what an exporter reads."""

    def __init__(self, rng: random.Random, noise: float) -> None:
        self._rng = rng
        self._busy_w = rng.gauss(640.0, 14.0)
        self._warmth = rng.gauss(0.0, 1.5 * noise)
        self._bin = rng.gauss(0.0, 0.003 * noise)
        self._power_drift = Drift(rng, 0.012 * noise, 20.0)
        self._heat_drift = Drift(rng, 0.5 * noise, 30.0)
        self._noise = noise
        self.job: str | None = None
        self.clock_share = 1.0
        """Of the clock of a healthy, busy GPU: own compute takes 1 / clock_share as long."""
        self.sm_mhz = IDLE_SM_MHZ
        self.temp = 29.0 + self._warmth
        self.power_w = IDLE_W
        self.reasons = GPU_IDLE
        self.energy_mj = rng.uniform(1e12, 9e12)
        self.compute = self.wait = self.transfer = 0.0
        self.power_ns = self.thermal_ns = self.sw_thermal_ns = self.hw_thermal_ns = self.brake_ns = 0
        self.sbe = 0
        self.dbe = 0
        # One GPU in twenty carries nearly all corrected errors (field studies), so few have a past.
        self.sbe_before = int(rng.lognormvariate(4.0, 1.5)) if rng.random() < 0.05 else 0
        self.dbe_before = 0
        self.remapped = 0
        self.remap_pending = 0
        self.remapped_corrected = 0
        self.remap_failed = 0
        self.sram_over = 0
        self.limit_w = LIMIT_W
        self.xid = 0
        self.recovery = 0
        self.pcie_replays = 0
        self.nvlink_crc = 0
        self.pages_corrected = self.pages_uncorrected = self.pages_pending = 0
        self.unrepairable = 0
        self.recoveries = self.links_failed = 0
        self.c2c_crc = 0
        self.lanes = PCIE_LANES
        self.links_down = 0

    def tick(self, dt_s: float, load: Load, stress: Stress) -> None:
        """Move on by `dt_s` under that load and stress."""
        self.job, self.compute, self.wait, self.transfer = load.job, load.compute, load.wait, load.transfer
        busy = load.job is not None
        hot = self._heat(dt_s, stress, busy)
        lost = max(stress.thermal * hot, stress.brake, stress.lock, stress.hard)
        share = (1.0 - lost) * (1.0 + self._bin if busy else 1.0)
        drift = self._power_drift.step(dt_s)
        effort = load.compute + 0.40 * load.wait + 0.55 * load.transfer
        power = IDLE_W + (self._busy_w * (1.0 + drift) - IDLE_W) * effort * (share * share if busy else 1.0)
        self.limit_w = LIMIT_W * (1.0 - stress.cap)
        capped = busy and power > self.limit_w - 3.0
        if capped:
            power, share = self._held(power, share, drift)
        self.power_w = round(power, 3)
        self.clock_share = share
        sm = MAX_SM_MHZ * 0.975 * share if busy else IDLE_SM_MHZ
        self.sm_mhz = min(MAX_SM_MHZ, round(sm / CLOCK_STEP_MHZ) * CLOCK_STEP_MHZ)
        self._reasons(int(dt_s * 1e9), busy, capped, stress, hot)
        self.energy_mj += power * dt_s * 1e3
        rate = stress.sbe_per_s + (self._noise / QUIET_S if self.sbe_before > 0 else 0.0)
        self.lanes, self.links_down = stress.lanes, stress.links_down
        if stress.replays_per_s > 0.0:
            self.pcie_replays += poisson(self._rng, stress.replays_per_s * dt_s)
        if stress.crc_per_s > 0.0:
            self.nvlink_crc += poisson(self._rng, stress.crc_per_s * dt_s)
        if stress.c2c_per_s > 0.0:
            self.c2c_crc += poisson(self._rng, stress.c2c_per_s * dt_s)
        if rate > 0.0:
            self.sbe += poisson(self._rng, rate * dt_s)

    def _held(self, power: float, share: float, drift: float) -> tuple[float, float]:
        """Power and clock at the limit: power falls with the square of the clock, down to idle's."""
        if self.limit_w >= LIMIT_W:
            return LIMIT_W - abs(drift) * 50.0, share * 0.985
        left = max(0.05, (self.limit_w - IDLE_W) / (power - IDLE_W))
        return self.limit_w - abs(drift) * 50.0, share * math.sqrt(left)

    def _heat(self, dt_s: float, stress: Stress, busy: bool) -> float:
        """Move the temperature; return how far (0 to 1) the GPU is into its thermal limit."""
        sick = stress.thermal > 0.0 and busy
        goal = SLOWDOWN_C + 0.5 if sick else 25.0 + 0.062 * self.power_w + self._warmth
        self.temp += (goal - self.temp) * (1.0 - math.exp(-dt_s / (3.0 if sick else 12.0)))
        if not sick:
            self._heat_drift.step(dt_s)
        return min(1.0, max(0.0, (self.temp - 76.0) / 9.0)) if sick else 0.0

    def _reasons(self, dt_ns: int, busy: bool, capped: bool, stress: Stress, hot: float) -> None:
        bits = 0 if busy else GPU_IDLE
        if capped:
            bits |= SW_POWER_CAP
            self.power_ns += dt_ns
        if hot > 0.05:
            hard = stress.thermal >= HALF_CLOCK
            bits |= SW_THERMAL | (HW_THERMAL | HW_SLOWDOWN if hard else 0)
            self.thermal_ns += dt_ns
            self.sw_thermal_ns += dt_ns
            self.hw_thermal_ns += dt_ns if hard else 0
        if stress.hard > 0.0:
            bits |= HW_SLOWDOWN
        if stress.brake > 0.0:
            bits |= HW_POWER_BRAKE | HW_SLOWDOWN
            self.power_ns += dt_ns
            self.brake_ns += dt_ns
        self.reasons = bits

    def uncorrectable(self, errors: int) -> None:
        """Uncorrectable errors that were contained: counted, a row or page marked, reset asked for."""
        self.dbe += errors
        self.pages_uncorrected += 1
        self.pages_pending = 1
        self.remapped += 1
        self.remap_pending = 1
        self.recovery = 1

    def remap(self, rows: int) -> None:
        """Rows marked for remapping because their corrected errors came back."""
        self.remapped_corrected += rows
        self.remap_pending = 1

    def used_up(self) -> None:
        """One more uncorrectable error, and with its row the last of those that a GPU may remap."""
        self.uncorrectable(1)
        self.remapped = MOST_ROWS
        self.remap_failed = 1

    def retire(self, pages: int) -> None:
        """Pages retired for corrected errors that came back; the driver has to be loaded again for it."""
        self.pages_corrected += pages
        self.pages_pending = 1

    def links_fail(self, links: int) -> None:
        """NVLinks whose recovery failed after one that did not."""
        self.recoveries += links
        self.links_failed += links
        self.recovery = 1

    def broken(self, kind: str) -> None:
        """What no reset mends: a remapping that failed, SRAM beyond its threshold, a channel without repair."""
        self.remap_failed |= kind == "row_remap_failure"
        self.sram_over |= kind == "sram_threshold"
        self.unrepairable |= kind == "memory_unrepairable"

    def reset(self) -> None:
        """A reset and a fresh driver: what lives in the driver starts at 0, what lives in the board stays."""
        self.sbe_before, self.sbe = self.sbe_before + self.sbe, 0
        self.dbe_before, self.dbe = self.dbe_before + self.dbe, 0
        self.power_ns = self.thermal_ns = self.sw_thermal_ns = self.hw_thermal_ns = self.brake_ns = 0
        self.energy_mj = 0.0
        self.xid = self.recovery = self.remap_pending = self.pages_pending = 0

    @property
    def shown_temp(self) -> float:
        """Degrees, as the sensor shows them."""
        return float(round(self.temp + self._heat_drift.value))
