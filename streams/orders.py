"""What people said: seen, be quiet, we are working there. The last order of an id is true."""

from collections.abc import Collection
from dataclasses import dataclass, field

from streams.contract import Order

MOST_ACKS = 5_000
MOST_ORDERS = 5_000
"""Kept at most, of acks and of all others; beyond it those said longest ago are forgotten, a tenth at a time."""

At = tuple[str, str]
"""Cluster and id of an order."""


@dataclass(slots=True)
class OrderBook:
    """Learns orders in any order of arrival."""

    orders: dict[At, Order] = field(default_factory=dict)
    """Without acks."""
    acks: dict[At, Order] = field(default_factory=dict)
    """Cluster and incident -> the last to say that it was seen."""

    def learn(self, order: Order) -> bool:
        """Take one in; whether it was news."""
        is_ack = order.kind == "ack" and order.incident is not None
        rows, most = (self.acks, MOST_ACKS) if is_ack else (self.orders, MOST_ORDERS)
        at = (order.cluster, order.incident if is_ack and order.incident is not None else order.id)
        known = rows.get(at)
        if known is not None and (known == order or known.ts_us > order.ts_us):
            return False
        rows[at] = order
        if len(rows) > most:
            for old in sorted(rows, key=lambda a: (rows[a].ts_us, a))[: most // 10]:
                del rows[old]
        return True

    def turned_us(self, now_us: int) -> int:
        """The last moment up to now at which anything changed: said, come into force, or ended."""
        kept = (*self.orders.values(), *self.acks.values())
        told = (us for o in kept for us in (o.ts_us, o.from_us, o.until_us))
        return max((us for us in told if us is not None and us <= now_us), default=0)

    def ack(self, cluster: str, incident: str) -> Order | None:
        """Who has seen an incident: the last to say so."""
        return self.acks.get((cluster, incident))

    def mute(
        self, cluster: str, incident: str, cause: str, parts: Collection[str], ts_us: int, is_loss: bool = False
    ) -> Order | None:
        """The mute that lasts longest of those in force. Loss is muted by its own name only, never by its place."""
        return max(
            (
                o
                for o in self.orders.values()
                if o.kind == "mute"
                and o.cluster == cluster
                and in_force(o, ts_us)
                and _is_meant(o, incident, cause, parts, is_loss)
            ),
            key=lambda o: (o.until_us is None, o.until_us or 0, o.id),
            default=None,
        )

    def work_on(self, cluster: str, parts: Collection[str], ts_us: int) -> Order | None:
        """The planned work on any of these parts that lasts longest."""
        return max(
            (
                o
                for o in self.orders.values()
                if o.kind == "maintenance"
                and o.cluster == cluster
                and in_force(o, ts_us)
                and not set(parts).isdisjoint(o.parts)
            ),
            key=lambda o: (o.until_us is None, o.until_us or 0, o.id),
            default=None,
        )


def in_force(order: Order, ts_us: int) -> bool:
    """From its start, the moment it was said unless it names another, up to and without its end."""
    start_us = order.ts_us if order.from_us is None else order.from_us
    return start_us <= ts_us and (order.until_us is None or ts_us < order.until_us)


def _is_meant(order: Order, incident: str, cause: str, parts: Collection[str], is_loss: bool) -> bool:
    if order.incident is not None:
        return order.incident == incident
    if order.cause is not None and order.cause != cause:
        return False
    if order.cause is None and (is_loss or not order.parts):
        return False
    return not order.parts or not set(parts).isdisjoint(order.parts)
