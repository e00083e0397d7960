"""Findings about GPUs that are gone from their node's page."""

from collections.abc import Collection

from collectors.contract.gpu import Gpu, GpuScrape
from streams.contract import Evidence, Finding, Subject
from streams.detectors.lost_state import Known

NAME = "gpu_lost"


def gone_finding(scrape: GpuScrape, known: Known, on_page: bool, count: int) -> Finding:
    """One GPU. `on_page`: its row is still there, with nothing in it."""
    subject = known.subject
    name = subject.gpu_uuid if subject.gpu_index is None else subject.gpu_index
    away_s = (scrape.ts_us - known.away_us) / 1e6
    words = "nothing of it can be read" if on_page else "it is gone from the page"
    return Finding(
        cluster=scrape.cluster,
        detector=NAME,
        state="opened",
        subject=subject,
        episode_us=scrape.ts_us,
        ts_us=scrape.ts_us,
        severity="critical",
        cause="gpu_silent" if on_page else "gpu_lost",
        value=away_s,
        unit="s",
        summary=f"GPU {name} of {scrape.node}: {words} for {away_s:g} s while the page goes on",
        evidence=[
            Evidence(what="it was last read", ts_us=known.away_us),
            Evidence(what="it did nothing then" if known.idle else "it was not seen idle then"),
            Evidence(what="GPUs that the node has shown", value=float(count), unit="GPUs"),
            Evidence(what="GPUs on its page now", value=float(_shown(scrape)), unit="GPUs"),
        ],
        confidence="medium" if on_page or known.idle else "high",
    )


def node_finding(scrape: GpuScrape, count: int, since_us: int) -> Finding:
    """All GPUs of a node at once, for longer than a reload of the driver takes."""
    away_s = (scrape.ts_us - since_us) / 1e6
    return _of_node(
        scrape,
        "gpu_lost",
        f"all {count} GPUs of {scrape.node} are gone from its page for {away_s:g} s",
        [Evidence(what="the last of them was read", ts_us=since_us)],
        float(count),
    )


def odd_count_finding(scrape: GpuScrape, gpu: Gpu, count: int, usual: Collection[int]) -> Finding:
    """A node that never showed a number of GPUs that such a node has."""
    numbers = ", ".join(map(str, sorted(usual)))
    return _of_node(
        scrape,
        "gpu_count_odd",
        f"{scrape.node} shows {count} GPUs, which nodes with {gpu.model or 'such GPUs'} do not have",
        [
            Evidence(what="GPUs on its page", value=float(count), unit="GPUs"),
            Evidence(what=f"usual numbers of such GPUs: {numbers}"),
        ],
        float(count),
    )


def _of_node(scrape: GpuScrape, cause: str, words: str, evidence: list[Evidence], value: float) -> Finding:
    return Finding(
        cluster=scrape.cluster,
        detector=NAME,
        state="opened",
        subject=Subject(kind="node", id=scrape.node, node=scrape.node),
        episode_us=scrape.ts_us,
        ts_us=scrape.ts_us,
        severity="critical" if cause == "gpu_lost" else "warning",
        cause=cause,
        value=value,
        unit="GPUs",
        summary=words,
        evidence=evidence,
        confidence="medium",
    )


def _shown(scrape: GpuScrape) -> int:
    return len({g.uuid for g in scrape.gpus})
