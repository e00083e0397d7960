"""A GPU's memory in log and counters: uncorrected errors and their stages, storms, the driver's notices, resets."""

from collections.abc import Sequence

from collectors.contract.kernel import KernelEvent
from tests.streams.scrapes import SECOND, T0, only, scrape
from tests.streams.story_form import Item, Story, Stretch

CODES: dict[str, tuple[int, ...]] = {"lost": (48, 63, 94), "failed": (48, 64, 95), "storm": (92,)}
COUNTERS = ("310", "311", "312", "313", "394", "396")
STEP_S = 10.0
ACTIVE = 60.0
STORM = 17_700.0 * STEP_S


def memory_chain(stretches: Sequence[Stretch], step_s: float = STEP_S) -> list[Item]:
    """Events of the log one second after the scrape before them; `active`: corrected errors with every scrape."""
    out: list[Item] = []
    now = dict.fromkeys(COUNTERS, 0.0)
    turn = 0
    for word, length in stretches:
        for tick in range(length):
            at_s = step_s * turn
            turn += 1
            if word in ("active", "storm"):
                now["310"] += STORM if word == "storm" else ACTIVE
                now["312"] += STORM if word == "storm" else ACTIVE
            elif word in ("lost", "failed") and tick == 0:
                now["311"] += 1.0
                now["313"] += 1.0
                now["396"] = 1.0
            elif word == "reset" and tick == 0:
                now["310"] = now["311"] = now["396"] = 0.0
            cells = {f: None if word == "unreadable" else v for f, v in now.items()}
            out.append(scrape(at_s, {f: only(3, v) for f, v in cells.items()}))
            if tick == 0:
                out += [_line(at_s + 1.0 + 0.1 * i, code) for i, code in enumerate(CODES.get(word, ()))]
    return out


def worn(stretches: Sequence[Stretch]) -> list[Item]:
    """Two scrapes every four hours. `bursts`: 40 corrected errors with them. `noticed`: and the driver complains.
    `remapped`: and rows are remapped for them."""
    out: list[Item] = []
    errors = rows = 0.0
    ticks = 0
    for word, length in stretches:
        for tick in range(length):
            at_s = 4 * 3600.0 * ticks
            ticks += 1
            errors += 40.0 if word in ("bursts", "noticed", "remapped") else 0.0
            rows += word == "remapped" and tick % 6 == 0
            cells = {"310": errors, "312": errors, "394": rows}
            columns = {f: only(3, None if word == "unreadable" else v) for f, v in cells.items()}
            out += [scrape(at_s, columns), scrape(at_s + STEP_S, columns)]
            if word == "noticed" and tick in (0, 12):
                out.append(_line(at_s + STEP_S + 1.0, 92))
    return out


def _line(at_s: float, code: int) -> KernelEvent:
    return KernelEvent(
        node="n1",
        ts_us=T0 + int(at_s * SECOND),
        kind="xid",
        code=code,
        pci="0000:1d:00",
        raw=f"NVRM: Xid (PCI:0000:1d:00): {code}, at {at_s}",
    )


WORN_STORY = Story(
    detector="memory",
    words=("calm", "bursts", "noticed", "remapped", "unreadable"),
    tell=worn,
    least=24,
    most=30,
    back=1,
    again=1,
    examples=15,
)
MEMORY_STORY = Story(
    detector="memory",
    words=("calm", "lost", "failed", "reset", "active", "storm", "unreadable"),
    tell=memory_chain,
    least=8,
    most=16,
)
