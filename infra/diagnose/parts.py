"""Which GPU, which host, which link: what is known of the parts under a job."""

from collections import Counter
from collections.abc import Sequence
from statistics import median

from infra.diagnose.judged import Episode, Judged
from infra.diagnose.report import Answer
from infra.diagnose.series import Step, typical
from infra.diagnose.words import gravest, said
from streams.causes import cause_row

MOST_LOOKED_AT = 4
GPU_NUMBERS = (
    ("100", "SM clock", "MHz"),
    ("150", "temperature", "C"),
    ("155", "power", "W"),
    ("1002", "SM active", ""),
    ("1004", "tensor active", ""),
)


def which_gpu(judged: Judged, suspects: Sequence[int], start_us: int, end_us: int) -> tuple[Answer, list[Episode]]:
    """Which GPU, and what ails it? Also its faults in that time."""
    question = "Which GPU?"
    placement = judged.placement
    gpus = dict.fromkeys(
        placement[r].gpu_uuid for r in suspects[:MOST_LOOKED_AT] if r in placement and placement[r].gpu_uuid
    )
    rows, found = [], list[Episode]()
    for uuid in gpus if len(suspects) <= MOST_LOOKED_AT else ():
        if uuid is None:
            continue
        faults = [e for e in judged.on_gpu(uuid) if e.during(start_us, end_us) and e.finding.subject.kind == "gpu"]
        found += faults
        rows += _gpu_rows(judged, uuid, start_us, end_us) + [said(e) for e in gravest(faults)[:3]]
    if not gpus:
        every = [e for e in _under(judged, start_us, end_us) if e.finding.subject.kind == "gpu"]
        found += every
        reply = "no" if not every else "some"
        words = "no GPU of the job stands out" if not every else f"{len(every)} faults on GPUs of the job"
        return Answer(question=question, reply=reply, words=words, details=[said(e) for e in gravest(every)[:5]]), found
    if len(suspects) > MOST_LOOKED_AT:
        return Answer(question=question, reply="none alone", words=f"{len(suspects)} are slow together"), found
    telling = gravest([e for e in found if cause_row(e.finding.cause).level >= 50])
    words = telling[0].finding.summary if telling else "no fault is known of it; it computes longer all the same"
    return Answer(question=question, reply=", ".join(filter(None, gpus)), words=words, details=rows), found


def which_host(judged: Judged, suspects: Sequence[int], window: Sequence[Step], top: str | None) -> Answer:
    """Which host?"""
    question = "Which host?"
    placement = judged.placement
    nodes = Counter(placement[r].node for r in suspects if r in placement)
    start_us, end_us = window[0].ts_us, window[-1].ts_us
    rows = []
    for node, count in nodes.most_common(3):
        size = sum(1 for p in placement.values() if p.node == node)
        rows.append(f"{node}: {count} of its {size} ranks are slow")
        mine = {r for r, p in placement.items() if p.node == node}
        for part in ("data_s", "cpu_s"):
            here, there = typical(window, part, mine), typical(window, part, set(placement) - mine)
            if here is not None and there is not None:
                rows.append(f"{node}: {part.removesuffix('_s')} {here:.3g} s, {there:.3g} s on other hosts")
        lines = Counter(k.kind for k in judged.kernel if k.node == node and start_us <= k.ts_us <= end_us)
        rows += [f"{node}: {n} kernel lines of {kind}" for kind, n in lines.most_common(3)]
        faults = [e for e in judged.on_node(node) if e.during(start_us, end_us) and e.finding.subject.kind == "node"]
        rows += [said(e) for e in gravest(faults)[:3]]
    if not nodes:
        return Answer(question=question, reply="no", words="no host stands out")
    node, count = nodes.most_common(1)[0]
    whole = count > 1 and count == max(nodes.values()) and len(nodes) == 1
    words = f"{node} carries {count} of the {len(suspects)} slow ranks" + ("" if top is None else f"; {top[:-2]} grew")
    return Answer(
        question=question, reply=node if whole else "one GPU of it" if count == 1 else node, words=words, details=rows
    )


def which_link(judged: Judged, window: Sequence[Step], base: Sequence[Step]) -> tuple[Answer, list[Episode]]:
    """Which link? Also the faults of cables, ports and communicators under the job."""
    question = "Which link?"
    start_us, end_us = window[0].ts_us, window[-1].ts_us
    found = [
        e
        for e in _under(judged, start_us, end_us)
        if e.finding.subject.kind in ("port", "device", "comm") or e.finding.cause in ("comm_slow", "slow_link")
    ]
    now, was = typical(window, "transfer_s"), typical(base, "transfer_s")
    numbers: dict[str, float | str | None] = {"transfer_s": now, "transfer_s_before": was}
    words = "the transfers are not told" if now is None else f"transfers take {now:.3g} s a step"
    words += f", {was:.3g} s before" if was is not None and now is not None else ""
    rows = [said(e) for e in gravest(found)[:5]]
    grown = now is not None and was is not None and was > 0 and now / was >= 1.10
    telling = gravest([e for e in found if e.finding.severity != "info"])
    reply = (
        f"{telling[0].finding.subject.kind} {telling[0].finding.subject.id}" if telling else "some" if grown else "no"
    )
    return Answer(question=question, reply=reply, words=words, numbers=numbers, details=rows), found


def _under(judged: Judged, start_us: int, end_us: int) -> list[Episode]:
    """Faults of parts that the job uses, or that name it."""
    world, placement = judged.pipeline.world, judged.placement
    uuids = {p.gpu_uuid for p in placement.values()}
    nodes = {p.node for p in placement.values()}
    ports = {name for p in placement.values() for name in world.ports_behind(judged.cluster, p.gpu_uuid, p.node)}
    out = []
    for episode in judged.episodes.values():
        s = episode.finding.subject
        near = judged.job in (s.job, *episode.finding.jobs) or s.gpu_uuid in uuids or s.node in nodes or s.id in nodes
        near = near or (
            s.kind == "port"
            and (s.id in ports or judged.job in world.jobs_on_port(judged.cluster, s.device or "", s.port or ""))
        )
        if near and episode.during(start_us, end_us):
            out.append(episode)
    return out


def _gpu_rows(judged: Judged, uuid: str, start_us: int, end_us: int) -> list[str]:
    """The GPU's own readings beside those of the job's other GPUs of its node's scrapes."""
    mine: dict[str, list[float]] = {}
    others: dict[str, list[float]] = {}
    used = {p.gpu_uuid for p in judged.placement.values()}
    for scrapes in judged.scrapes.values():
        for scrape in scrapes:
            if not start_us <= scrape.ts_us <= end_us:
                continue
            for field_id, _, _ in GPU_NUMBERS:
                for gpu, value in zip(scrape.gpus, scrape.columns.get(field_id, []), strict=False):
                    if value is not None and gpu.uuid in used:
                        (mine if gpu.uuid == uuid else others).setdefault(field_id, []).append(value)
    said = [
        f"{name} {median(mine[field_id]):.4g}{f' {unit}' if unit else ''}"
        + (f" ({median(others[field_id]):.4g} on the others)" if field_id in others else "")
        for field_id, name, unit in GPU_NUMBERS
        if field_id in mine
    ]
    return [f"{uuid}: {', '.join(said)}"] if said else []
