"""GPUs in the place of others: what was said of the links of those is over."""

from collections.abc import Iterator

from collectors.contract.gpu import GpuScrape
from streams.contract import Finding
from streams.detectors.links_limits import LinkLimits
from streams.detectors.links_state import ALL, LinkState, part_ways


def succeed(state: LinkState, scrape: GpuScrape, limits: LinkLimits) -> Iterator[Finding | None]:
    """End the episodes of GPUs that were replaced, and those of the node of which few GPUs are left."""
    episodes, heirs = state.episodes, state.slots.heirs(scrape, state.episodes.open.values())
    for uuid, heir in heirs.items():
        for voice in state.voices.values():
            voice.parts = {place: part for place, part in voice.parts.items() if place[0] != uuid}
        for name in [name for name in episodes.open if name.startswith(f"{uuid}/")]:
            yield episodes.replace(name, scrape.ts_us, heir)
    if not heirs:
        return
    for word in [name.partition("/")[2] for name in episodes.open if name.startswith(f"{ALL}/")]:
        left = [sum(p.with_node for (_, w), p in v.parts.items() if w == word) for v in state.voices.values()]
        if max(left) < limits.node_least:
            yield episodes.replace(f"{ALL}/{word}", scrape.ts_us, ", ".join(sorted(heirs.values())))
            for voice in state.voices.values():
                part_ways(voice, word)
