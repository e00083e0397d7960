"""Every detector, with its default limits."""

from typing import Any, get_args

from streams.detector import Detector
from streams.detectors.lossless import LosslessDropDetector
from streams.detectors.lossless_limits import LosslessLimits
from streams.detectors.memory import MemoryDetector
from streams.detectors.memory_conditions import MemoryLimits
from streams.detectors.silence import SilenceDetector, Watch
from streams.detectors.silence_limits import SilenceLimits
from streams.detectors.straggler import StragglerDetector
from streams.detectors.straggler_limits import StragglerLimits
from streams.detectors.throttle import ThrottleDetector
from streams.detectors.throttle_reading import ThrottleLimits
from streams.detectors.xid import XidDetector
from streams.detectors.xid_state import XidLimits


def detectors() -> list[Detector[Any]]:
    """A new set. Detectors hold limits only; whoever runs them keeps their states."""
    return [
        MemoryDetector(MemoryLimits()),
        XidDetector(XidLimits()),
        ThrottleDetector(ThrottleLimits()),
        StragglerDetector(StragglerLimits()),
        LosslessDropDetector(LosslessLimits()),
        *(SilenceDetector(watch, SilenceLimits()) for watch in get_args(Watch)),
    ]
