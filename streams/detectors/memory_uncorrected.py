"""An episode of uncorrected errors: its stages, what to do by the gravest, and the evidence that a vendor asks for."""

from collections.abc import Mapping

from streams.contract import Evidence
from streams.detectors.memory_condition import REPLACE, RESET, Condition
from streams.detectors.memory_fields import (
    BANKS,
    CORRECTED_ROWS,
    REMAP_FAILED,
    REMAP_PENDING,
    SRAM_THRESHOLD,
    UNCORRECTED_PLACES,
    UNCORRECTED_ROWS,
    UNREPAIRABLE,
)
from streams.detectors.memory_log import FAILED, RECORDED, STAGES, UNCONTAINED, LogLimits, is_again, stages
from streams.detectors.memory_state import GpuMemory, Uncorrected

VENDOR_FIELDS = {
    UNCORRECTED_ROWS: "rows remapped for uncorrected errors",
    CORRECTED_ROWS: "rows remapped for corrected errors",
    REMAP_PENDING: "remap waits for a reset (flag 396)",
    REMAP_FAILED: "remap failed (flag 395)",
    SRAM_THRESHOLD: "SRAM over its limit (flag 346)",
    UNREPAIRABLE: "memory cannot be repaired (flag 1507)",
}
BANK_WORDS = {"385": "all", "386": "many", "387": "some", "388": "few", "389": "no"}
_NOW = "drain the GPU now and reset it before anything else runs on it"


def uncorrected(gpu: GpuMemory, lost: Uncorrected, now: Mapping[str, float], limits: LogLimits) -> Condition:
    """The episode as one condition. `now`: field -> reading of this GPU."""
    codes = stages(gpu, lost, limits)
    again = is_again(gpu, lost, limits)
    errors = max(lost.errors, 1.0)
    words = f"{errors:.0f} uncorrected memory error{'' if errors == 1 else 's'}{_where(codes, lost)}"

    def facts() -> list[Evidence]:
        before = [Evidence(what="earlier episodes in 30 days", value=float(len(gpu.faults)), unit="episodes")]
        return [*_stages(codes, lost), *vendor_evidence(now), *(before if again else [])]

    if FAILED in codes:
        return Condition(
            cause="row_remap_failure",
            severity="critical",
            value=float(codes[FAILED]),
            limit=0.0,
            unit="events",
            words=f"{words}; the bad row could not be recorded for repair",
            action=REPLACE,
            ts_us=lost.last_us,
            facts=facts,
        )
    diagnose = "; the second within 30 days: run the field diagnostic" if again else ""
    if UNCONTAINED & codes.keys():
        return Condition(
            cause="uncontained_ecc",
            severity="critical",
            value=errors,
            limit=0.0,
            unit="errors",
            words=f"{words}, not contained",
            action=f"{_NOW}{diagnose}",
            ts_us=lost.last_us,
            facts=facts,
        )
    contained = ", contained to the programs that read it" if 94 in codes else ""
    recorded = " (it applies the row remap)" if RECORDED in codes or now.get(REMAP_PENDING, 0.0) > 0.0 else ""
    return Condition(
        cause="uncorrectable_ecc",
        severity="critical",
        value=errors,
        limit=0.0,
        unit="errors",
        words=words + contained,
        action=f"{RESET}{recorded}{diagnose or '; a second one within 30 days asks for the field diagnostic'}",
        ts_us=lost.last_us,
        facts=facts,
    )


def told(gpu: GpuMemory, lost: Uncorrected, limits: LogLimits) -> str:
    """What is known of the episode, as a word that changes when a stage comes to light."""
    counted = "counted" if lost.by_field else ""
    flags = [name for name in (REMAP_PENDING, REMAP_FAILED, SRAM_THRESHOLD, UNREPAIRABLE) if name in gpu.levels]
    return " ".join([*map(str, stages(gpu, lost, limits)), counted, *flags])


def vendor_evidence(now: Mapping[str, float]) -> list[Evidence]:
    """The counters, flags and spare rows that go with a request for replacement."""
    found = [Evidence(what=what, value=now[field]) for field, what in VENDOR_FIELDS.items() if field in now]
    banks = [f"{now[field]:.0f} with {BANK_WORDS[field]}" for field in BANKS if now.get(field, 0.0) > 0.0]
    if banks:
        found.append(Evidence(what=f"memory banks by spare rows: {', '.join(banks)}"))
    return found


def _stages(codes: Mapping[int, int], lost: Uncorrected) -> list[Evidence]:
    found = [
        Evidence(what=f"XID {code}: {STAGES[code]}", value=float(times), unit="times", ts_us=lost.code_us.get(code))
        for code, times in codes.items()
    ]
    if lost.by_field:
        counted = max(lost.by_field.values())
        found.append(Evidence(what="uncorrected errors by the counters", value=counted, unit="errors"))
    if lost.logged:
        found.append(Evidence(what="uncorrected errors by the kernel log", value=float(lost.logged), unit="errors"))
    return found


def _where(codes: Mapping[int, int], lost: Uncorrected) -> str:
    places = {UNCORRECTED_PLACES[field] for field in lost.by_field if field in UNCORRECTED_PLACES}
    places |= {place for code, place in ((171, "DRAM"), (172, "SRAM")) if code in codes}
    return f" in {' and '.join(sorted(places))}" if places else ""
