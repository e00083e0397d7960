"""What has been told of each job, so that only news is sent, over a restart too."""

import hashlib
from collections.abc import Collection

import msgspec
from msgspec import Struct

from collectors.contract.job import JobEvent
from collectors.placement.listing import Ended, Held, Listing

GONE = "unknown"
"""The state of a job that its scheduler lists no more."""


class Told(Struct, frozen=True):
    """The last thing told of a job that holds GPUs."""

    attempt: int
    since_us: int
    digest: str
    seen_us: int


Jobs = dict[str, Told]


def news(jobs: Jobs, listing: Listing, now_us: int, cluster: str) -> tuple[Jobs, list[JobEvent]]:
    """(what is told from now on, the events that say it). Placements first, ends last.

    A job that a complete listing no longer has has ended untold: its end is the time it was seen last. An end that
    was not seen to begin is told when it lies in the listing, once: `jobs` keeps it out the next time.
    """
    kept: Jobs = {}
    events: list[JobEvent] = []
    ended = {end.job: end for end in listing.ended}
    for held in listing.held:
        digest = _digest(held)
        former = jobs.get(held.job)
        kept[held.job] = Told(held.attempt, held.since_us, digest, now_us)
        if former is None or (former.attempt, former.since_us, former.digest) != (held.attempt, held.since_us, digest):
            changed = former is not None and (former.attempt, former.since_us) == (held.attempt, held.since_us)
            events.append(_placed(held, listing, now_us if changed else held.since_us, cluster))
    for job, former in jobs.items():
        if job in kept:
            continue
        end = ended.get(job)
        if end is None and not listing.complete:
            kept[job] = former
        elif end is not None:
            events.append(_ended(end, listing, cluster))
        else:
            untold = Ended(job=job, attempt=former.attempt, ts_us=former.seen_us, state=GONE, reason="listed no more")
            events.append(_ended(untold, listing, cluster))
    return kept, events


def ends_of_strangers(known: Collection[str], listing: Listing, cluster: str) -> list[JobEvent]:
    """Ends of jobs that were never seen to hold anything: for a listing that is read once."""
    return [_ended(end, listing, cluster) for end in listing.ended if end.job not in known]


def _placed(held: Held, listing: Listing, ts_us: int, cluster: str) -> JobEvent:
    return JobEvent(
        cluster=cluster,
        ts_us=ts_us,
        job=held.job,
        attempt=held.attempt,
        kind="placed",
        placement=list(held.placement),
        source=listing.source,
        aliases=list(held.aliases),
    )


def _ended(end: Ended, listing: Listing, cluster: str) -> JobEvent:
    return JobEvent(
        cluster=cluster,
        ts_us=end.ts_us,
        job=end.job,
        attempt=end.attempt,
        kind="ended",
        state=end.state,
        reason=end.reason,
        source=listing.source,
    )


def _digest(held: Held) -> str:
    return hashlib.sha256(msgspec.json.encode((held.placement, held.aliases))).hexdigest()[:16]
