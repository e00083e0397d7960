"""The words of the verdicts on links that go down."""

from streams.contract import Evidence, Finding, Subject
from streams.detectors.fabric_flap_limits import LinkFlapLimits
from streams.detectors.fabric_flap_state import MOST_TIMES, Flaps

NAME = "link_flap"


def link_fault(
    limits: LinkFlapLimits,
    cluster: str,
    subject: Subject,
    ts_us: int,
    flaps: Flaps,
    flapping: bool,
    source: str,
) -> Finding:
    """A link as it stands: flapping and down are tickets, one short break is a record."""
    place = f"{subject.device} {subject.port}"
    short, long = flaps.within(ts_us, limits.short_us), flaps.within(ts_us, limits.long_us)
    state = "is down" if flaps.down else "is up again"
    if flapping:
        of_a_day = f"{long} or more" if long >= MOST_TIMES else f"{long}"
        summary = (
            f"{place} went down {short} times in {limits.short_us // 60_000_000} min, {of_a_day} in a day; it {state}"
        )
    elif flaps.down:
        summary = f"{place} is down"
    else:
        summary = f"{place} went down and came back"
    return Finding(
        cluster=cluster,
        ts_us=ts_us,
        detector=NAME,
        state="opened",
        subject=subject,
        episode_us=ts_us,
        severity="warning" if flapping or flaps.down else "info",
        cause="link_flap" if flapping else "link_down",
        value=float(max(long, 1)),
        limit=float(limits.short_flaps) if flapping else None,
        unit="flaps",
        summary=summary,
        evidence=[
            Evidence(what=f"link {state}, by {source}", ts_us=ts_us),
            Evidence(what="flaps in a day", value=float(long), unit="flaps", ts_us=ts_us),
        ],
    )
