"""What one scrape shows of the links themselves: PCIe generation and width, NVLinks in use, ports of switches."""

from collections.abc import Iterator
from dataclasses import dataclass

from collectors.contract.gpu import Entities, GpuScrape
from streams.detectors.links_errors import owner_of
from streams.detectors.links_limits import LinkLimits
from streams.detectors.links_state import Owner, Voice
from streams.detectors.links_tables import (
    PCIE_FIELDS,
    RESET_REQUIRED,
    STATE_OF_LINK,
    STATE_OF_PORT,
    pcie_bits_per_s,
    usual_nvlinks,
)
from streams.episodes import Episodes
from streams.gpus import gauge, share_at_work

PORT_ACTIVE, PORT_ERROR = 2.0, 3.0


@dataclass(frozen=True, slots=True)
class Sight:
    """How one part stands. `bad` None: this scrape cannot tell."""

    owner: Owner
    row: int | None
    word: str
    bad: bool | None
    value: float | None = None
    limit: float | None = None
    unit: str | None = None
    words: str = ""
    links: tuple[str, ...] = ()
    share: float = 1.0
    """Of the bandwidth that is left."""


def sights(scrape: GpuScrape, voice: Voice, episodes: Episodes, limits: LinkLimits) -> list[Sight]:
    """All that can be seen, good and bad."""
    return [
        *_pcie(scrape, voice, limits),
        *_gpu_links(scrape, voice, episodes, limits),
        *_switch_ports(scrape, voice, episodes),
        *_resets(scrape),
    ]


def _pcie(scrape: GpuScrape, voice: Voice, limits: LinkLimits) -> Iterator[Sight]:
    """Width against what the driver says the slot can do, generation also against what it or a neighbour has reached.

    The generation falls when a GPU rests, which is power saving: judged under load only.
    """
    if "238" not in scrape.columns and "237" not in scrape.columns:
        return
    rows: dict[Owner, int] = {}
    for row, gpu in enumerate(scrape.gpus):
        rows.setdefault(gpu.uuid, row)
    now = {owner: _link(scrape, row) for owner, row in rows.items()}
    for owner, row in rows.items():
        generation, width, most_generation, most_width = now[owner]
        model = scrape.gpus[row].model
        others = [link for other, link in now.items() if other != owner and scrape.gpus[rows[other]].model == model]
        best_width = _best(voice, owner, "width", width, [link[1] for link in others])
        if most_width is not None:
            best_width = most_width
        best_generation = _best(voice, owner, "generation", generation, [link[0] for link in others])
        if most_generation is not None and best_generation is not None:
            best_generation = min(best_generation, most_generation)
        narrow, slow = _is_below(width, best_width), _is_below(generation, best_generation)
        bad: bool | None = False
        if narrow or slow:
            active = share_at_work(scrape, row)
            bad = True if (narrow if active is None else active > limits.active) else None
        elif (generation is None and width is None) or _is_below(generation, most_generation):
            bad = None  # Where nobody has reached the highest generation, the platform may not have it.
        left, whole = _bandwidth(generation, width), _bandwidth(best_generation, best_width)
        yield Sight(
            owner,
            row,
            "pcie_downtrain",
            bad,
            value=width if narrow else generation,
            limit=best_width if narrow else best_generation,
            unit="lanes" if narrow else "PCIe generation",
            words=f"its PCIe link runs as {_named(generation, width)} instead of {_named(best_generation, best_width)}",
            share=1.0 if left is None or whole is None else left / whole,
        )


def _gpu_links(scrape: GpuScrape, voice: Voice, episodes: Episodes, limits: LinkLimits) -> Iterator[Sight]:
    """Links that carry traffic, against the model's usual number, the GPU's own past and its neighbours."""
    group = next((g for g in scrape.entities if g.kind == "nvlink"), None)
    if group is None or STATE_OF_LINK not in group.columns:
        return
    active: dict[Owner, int] = {}
    off: dict[Owner, list[str]] = {}
    for row, parent in enumerate(group.parents[: len(group.ids)]):
        state = _part_cell(group, STATE_OF_LINK, row)
        if parent is None or state is None:
            continue  # Other columns say nothing of it: newer drivers leave out what never was.
        active.setdefault(parent, 0)
        if state == 0.0:
            off.setdefault(parent, []).append(group.ids[row])
        else:
            active[parent] += 1
    rows = {gpu.uuid: row for row, gpu in reversed(list(enumerate(scrape.gpus)))}
    for owner, count in active.items():
        own_row = rows.get(owner)
        model = None if own_row is None else scrape.gpus[own_row].model
        alike = [n for o, n in active.items() if o in rows and scrape.gpus[rows[o]].model == model]
        own = voice.reached(owner, "links", _known(episodes, owner, "nvlink_down", count))
        usual = usual_nvlinks(model, limits.nvlinks)
        expected = max(own, float(max(alike, default=0)))
        if usual is not None and expected > 0:
            expected = float(usual)
        yield Sight(
            owner,
            own_row,
            "nvlink_down",
            count < expected,
            value=float(count),
            limit=expected,
            unit="links",
            words=f"{count} of {expected:.0f} NVLinks are up",
            links=tuple(off.get(owner, ())),
        )


def _switch_ports(scrape: GpuScrape, voice: Voice, episodes: Episodes) -> Iterator[Sight]:
    """Ports in error, or fewer active ones than the switch has had: which ports are used is the platform's choice."""
    group = next((g for g in scrape.entities if g.kind == "nvswitch_link"), None)
    if group is None or STATE_OF_PORT not in group.columns:
        return
    active: dict[Owner, int] = {}
    off: dict[Owner, list[str]] = {}
    broken: dict[Owner, list[str]] = {}
    for row in range(len(group.ids)):
        state = _part_cell(group, STATE_OF_PORT, row)
        if state is None or state < 0.0:
            continue
        owner = owner_of(scrape.node, group, row)
        active.setdefault(owner, 0)
        if state == PORT_ACTIVE:
            active[owner] += 1
        elif state == PORT_ERROR:
            broken.setdefault(owner, []).append(group.ids[row])
        elif voice.reached(owner, f"port {group.ids[row]}", state) >= PORT_ACTIVE:
            off.setdefault(owner, []).append(group.ids[row])
        voice.reached(owner, f"port {group.ids[row]}", min(state, PORT_ACTIVE))
    for owner, count in active.items():
        expected = voice.reached(owner, "links", _known(episodes, owner, "nvlink_down", count))
        expected = max(expected, float(count + len(broken.get(owner, ()))))
        yield Sight(
            owner,
            None,
            "nvlink_down",
            count < expected,
            value=float(count),
            limit=expected,
            unit="links",
            words=f"{count} of {expected:.0f} ports of the NVSwitch are up",
            links=tuple(broken.get(owner, []) + off.get(owner, [])),
        )


def _resets(scrape: GpuScrape) -> Iterator[Sight]:
    group = next((g for g in scrape.entities if g.kind == "nvswitch"), None)
    for row in range(len(group.ids) if group is not None else 0):
        state = None if group is None else _part_cell(group, RESET_REQUIRED, row)
        if group is not None and state is not None:
            yield Sight(
                owner_of(scrape.node, group, row),
                None,
                "nvswitch_reset_required",
                state > 0.0,
                value=state,
                limit=0.0,
                unit="flag",
                words=f"it asks for a reset (DCGM field {RESET_REQUIRED})",
            )


def _link(scrape: GpuScrape, row: int) -> tuple[float | None, float | None, float | None, float | None]:
    """(generation, width, highest generation, highest width). 0 lanes or generation 0 is no link that was read."""
    told = (gauge(scrape, f, row) for f in PCIE_FIELDS)
    most_generation, most_width, generation, width = (v if v is not None and v > 0.0 else None for v in told)
    return generation, width, most_generation, most_width


def _is_below(value: float | None, limit: float | None) -> bool:
    return value is not None and limit is not None and value < limit


def _best(voice: Voice, owner: Owner, what: str, now: float | None, others: list[float | None]) -> float | None:
    own = None if now is None else voice.reached(owner, what, now)
    return max((v for v in (own, *others) if v is not None), default=None)


def _known(episodes: Episodes, owner: Owner, word: str, count: int) -> float:
    """An open episode remembers how many there were."""
    last = episodes.open.get(f"{owner}/{word}")
    return float(count) if last is None or last.limit is None else max(float(count), last.limit)


def _bandwidth(generation: float | None, width: float | None) -> float | None:
    return None if generation is None or width is None else pcie_bits_per_s(generation, width)


def _named(generation: float | None, width: float | None) -> str:
    parts = ([] if generation is None else [f"gen {generation:.0f}"]) + ([] if width is None else [f"x{width:.0f}"])
    return " ".join(parts)


def _part_cell(group: Entities, field_id: str, row: int) -> float | None:
    column = group.columns.get(field_id)
    return column[row] if column is not None and row < len(column) else None
