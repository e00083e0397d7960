"""Every detector with the type of its limits: a section of the limits file each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from streams.detector import Detector
from streams.detectors.comm import CommDetector
from streams.detectors.comm_limits import CommLimits
from streams.detectors.counter_straggler import CounterStragglerDetector
from streams.detectors.counter_straggler_limits import CounterStragglerLimits
from streams.detectors.fabric_blind import CounterBlindDetector
from streams.detectors.fabric_blind_limits import CounterBlindLimits
from streams.detectors.fabric_flap import LinkFlapDetector
from streams.detectors.fabric_flap_limits import LinkFlapLimits
from streams.detectors.fabric_link import LinkQualityDetector
from streams.detectors.fabric_link_limits import LinkQualityLimits
from streams.detectors.fabric_pause import PauseDetector
from streams.detectors.fabric_pause_limits import PauseLimits
from streams.detectors.fabric_transport import TransportDetector
from streams.detectors.fabric_transport_limits import TransportLimits
from streams.detectors.hang import HangDetector
from streams.detectors.hang_limits import HangLimits
from streams.detectors.links import LinkDetector
from streams.detectors.links_limits import LinkLimits
from streams.detectors.lossless import LosslessDropDetector
from streams.detectors.lossless_limits import LosslessLimits
from streams.detectors.lost import LostDetector
from streams.detectors.lost_limits import LostLimits
from streams.detectors.memory import MemoryDetector
from streams.detectors.memory_conditions import MemoryLimits
from streams.detectors.shadow import Shadowed
from streams.detectors.silence import SilenceDetector, Watch
from streams.detectors.silence_limits import SilenceLimits
from streams.detectors.straggler import StragglerDetector
from streams.detectors.straggler_limits import StragglerLimits
from streams.detectors.throttle import ThrottleDetector
from streams.detectors.throttle_reading import ThrottleLimits
from streams.detectors.xid import XidDetector
from streams.detectors.xid_limits import XidLimits


@dataclass(frozen=True, slots=True)
class Spec:
    """One section of the limits file and what it makes."""

    section: str
    limits: Callable[[], Any]
    """A frozen dataclass whose defaults are the limits; its attribute docstrings are their sources."""
    make: Callable[[Any], list[Detector[Any]]]


SPECS: tuple[Spec, ...] = (
    Spec("memory", MemoryLimits, lambda limits: [MemoryDetector(limits)]),
    Spec("xid", XidLimits, lambda limits: [XidDetector(limits)]),
    Spec("gpu_lost", LostLimits, lambda limits: [LostDetector(limits)]),
    Spec("throttle", ThrottleLimits, lambda limits: [ThrottleDetector(limits)]),
    Spec("counter_straggler", CounterStragglerLimits, lambda limits: [CounterStragglerDetector(limits)]),
    Spec("gpu_link", LinkLimits, lambda limits: [LinkDetector(limits)]),
    Spec("straggler", StragglerLimits, lambda limits: [StragglerDetector(limits)]),
    Spec("lossless", LosslessLimits, lambda limits: [LosslessDropDetector(limits)]),
    Spec("comm", CommLimits, lambda limits: [CommDetector(limits)]),
    Spec("hang", HangLimits, lambda limits: [HangDetector(limits)]),
    Spec("link_quality", LinkQualityLimits, lambda limits: [LinkQualityDetector(limits)]),
    Spec("link_flap", LinkFlapLimits, lambda limits: [LinkFlapDetector(limits)]),
    Spec("pause", PauseLimits, lambda limits: [PauseDetector(limits)]),
    Spec("transport", TransportLimits, lambda limits: [TransportDetector(limits)]),
    Spec("counter_blind", CounterBlindLimits, lambda limits: [CounterBlindDetector(limits)]),
    Spec("silence", SilenceLimits, lambda limits: [SilenceDetector(watch, limits) for watch in get_args(Watch)]),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What a limits file says of one section."""

    limits: Any
    shadow: bool = False
    """Judged and stored, never told."""
    on: bool = True


def detectors(choices: Mapping[str, Choice] | None = None) -> list[Detector[Any]]:
    """A new set. Detectors hold limits only; whoever runs them keeps their states. None: the defaults."""
    out: list[Detector[Any]] = []
    for spec in SPECS:
        choice = (choices or {}).get(spec.section) or Choice(limits=spec.limits())
        if choice.on:
            made = spec.make(choice.limits)
            out += [Shadowed(one) for one in made] if choice.shadow else made
    return out
