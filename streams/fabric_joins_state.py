"""What the joins of the fabric remember: open findings that they listen to, and what they made of them."""

from dataclasses import dataclass, field

import msgspec
from msgspec import Struct, structs

from streams.contract import Evidence, Finding, finding_key

NAME = "fabric_joins"
S = 1_000_000
MOST_HEARD = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinLimits:
    """Rules F6 and F7: what hosts and ends of cables say together."""

    hosts: int = 3
    """So many hosts that retry and share an element make a grey loss. Starting point of rule F6, which says >= 3."""
    hosts_left: int = 2
    """It lasts while at least so many of them still retry; one less than it takes, so that it does not flap. Ours."""
    quiet_us: int = 5 * S
    """So long the element must stay quiet after the last of them began: switches are read at other moments than hosts.
    Ours."""
    clean_us: int = 60 * S
    """So long the other end of a bad link must stay well: several windows of any collector, rule F7 says >= 3. Ours."""
    forget_us: int = 3600 * S
    """How long an ended finding is remembered, so that one delivered again brings nothing. Ours."""


class JoinRow(Struct):
    """What one row of the Table holds."""

    finding: Finding


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(JoinRow)


@dataclass(slots=True)
class JoinState:
    """`heard` and `made` by finding key. `changed`: rows to write since the last `take_changes`."""

    heard: dict[str, Finding] = field(default_factory=dict)
    made: dict[str, Finding] = field(default_factory=dict)
    latest_us: int = 0
    """Time of the newest edge heard."""
    changed: set[str] = field(default_factory=set)

    def hear(self, finding: Finding) -> bool:
        """Take an edge in; whether it was news."""
        key = finding_key(finding)
        known = self.heard.get(key)
        if known is None and (finding.state == "cleared" or len(self.heard) >= MOST_HEARD):
            return False
        if known is not None and (known.state == "cleared" or finding.ts_us < known.ts_us or finding == known):
            return False
        self.heard[key] = finding
        self.latest_us = max(self.latest_us, finding.ts_us)
        self.changed.add(f"heard|{key}")
        return True

    def open_of(self, cluster: str, cause: str) -> list[Finding]:
        """Open findings with a cause, by their keys."""
        return [
            f
            for _, f in sorted(self.heard.items())
            if (f.cluster, f.cause) == (cluster, cause) and f.state != "cleared"
        ]

    def derived(self, cause: str, cluster: str | None = None) -> list[Finding]:
        """What was made and has not ended."""
        return [
            f
            for _, f in sorted(self.made.items())
            if f.cause == cause and f.state != "cleared" and cluster in (None, f.cluster)
        ]

    def tell(self, finding: Finding) -> Finding:
        """Remember what was made."""
        key = finding_key(finding)
        self.made[key] = finding
        self.changed.add(f"made|{key}")
        return finding

    def end(self, finding: Finding, ts_us: int, why: str) -> Finding:
        """The last edge of what was made."""
        ts_us = max(ts_us, finding.ts_us)
        rows = [Evidence(what=why, ts_us=ts_us)]
        return self.tell(structs.replace(finding, state="cleared", ts_us=ts_us, summary=why, evidence=rows))

    def forget(self, before_us: int) -> None:
        """Drop what ended before a moment."""
        for kind, rows in (("heard", self.heard), ("made", self.made)):
            for key in [k for k, f in rows.items() if f.state == "cleared" and f.ts_us < before_us]:
                del rows[key]
                self.changed.add(f"{kind}|{key}")

    def take_changes(self) -> dict[str, bytes | None]:
        """Rows to write since the last call; None: delete."""
        rows: dict[str, bytes | None] = {}
        for name in sorted(self.changed):
            kind, _, key = name.partition("|")
            finding = (self.heard if kind == "heard" else self.made).get(key)
            rows[f"join|{name}"] = None if finding is None else _encoder.encode(JoinRow(finding))
        self.changed.clear()
        return rows


def restore(rows: dict[str, bytes]) -> JoinState:
    """The state from its rows. Raises `msgspec.MsgspecError` on bytes that are not ours."""
    state = JoinState()
    for name, raw in rows.items():
        _, kind, key = name.split("|", 2)
        finding = _decoder.decode(raw).finding
        (state.heard if kind == "heard" else state.made)[key] = finding
        if kind == "heard":
            state.latest_us = max(state.latest_us, finding.ts_us)
    return state
