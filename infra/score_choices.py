"""What a score judges with: a limits file, or some of the detectors alone."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from collectors.contract.errors import UserError
from infra.fleet.ecc_population import Calibration, calibrate
from infra.fleet.fault import KINDS
from infra.fleet.scenario import Scenario
from streams.detectors.all import SPECS, Choice
from streams.limits import load

GPU_DAYS, SEED = 400_000.0, 5
"""Enough for a false ticket in 1,000 GPU-days to show with three digits."""


class ChoiceError(UserError):
    """A detector that there is not."""


def chosen(config: str | None, detectors: str | None) -> tuple[dict[str, Choice], frozenset[str] | None]:
    """The sections of a limits file with all but the named detectors off, and the names of those that are on.

    A detector goes by its own name or that of its section. None for the names: all are on.
    """
    choices = load(Path(config)) if config is not None else {}
    if detectors is None:
        return choices, None
    wanted = {name.strip() for name in detectors.split(",") if name.strip()}
    names: set[str] = set()
    for spec in SPECS:
        choice = choices.get(spec.section) or Choice(limits=spec.limits())
        own = {detector.name for detector in spec.make(choice.limits)}
        on = spec.section in wanted or bool(own & wanted)
        if on:
            names |= own
        wanted -= {spec.section, *own}
        choices[spec.section] = replace(choice, on=on and choice.on)
    if wanted:
        raise ChoiceError(f"--detectors: no {min(wanted)!r}; there is {', '.join(_sections())}")
    return choices, frozenset(names)


def answerable(scenario: Scenario, names: frozenset[str]) -> Scenario:
    """The scenario with only those faults counted for which one of the named detectors answers."""
    return replace(
        scenario,
        faults=tuple(
            fault if KINDS[fault.kind].detector in names else replace(fault, optional=True) for fault in scenario.faults
        ),
    )


def tickets_of(scenarios: Sequence[Scenario], choices: Mapping[str, Choice]) -> Calibration | None:
    """Tickets for corrected memory errors over the published rates; None: no scenario has such a fault."""
    choice = choices.get("memory")
    asked = any(fault.kind == "ecc_growth" and not fault.optional for s in scenarios for fault in s.faults)
    if not asked or (choice is not None and not choice.on):
        return None
    return calibrate(GPU_DAYS, SEED, None if choice is None else choice.limits)


def _sections() -> list[str]:
    return [spec.section for spec in SPECS]
