"""What people said: seen, be quiet, we are working there. The last order of an id is true."""

from collections.abc import Collection
from dataclasses import dataclass, field

from streams.contract import Order

MOST_ORDERS = 5_000
"""Kept at most; beyond it those said longest ago are forgotten."""

At = tuple[str, str]
"""Cluster and id of an order."""


@dataclass(slots=True)
class OrderBook:
    """Learns orders in any order of arrival."""

    orders: dict[At, Order] = field(default_factory=dict)

    def learn(self, order: Order) -> bool:
        """Take one in; whether it was news."""
        at = (order.cluster, order.id)
        known = self.orders.get(at)
        if known is not None and (known == order or known.ts_us > order.ts_us):
            return False
        self.orders[at] = order
        if len(self.orders) > MOST_ORDERS:
            del self.orders[min(self.orders, key=lambda a: (self.orders[a].ts_us, a))]
        return True

    def turned_us(self, now_us: int) -> int:
        """The last moment up to now at which anything changed: said, come into force, or ended."""
        told = (us for o in self.orders.values() for us in (o.ts_us, o.from_us, o.until_us))
        return max((us for us in told if us is not None and us <= now_us), default=0)

    def ack(self, cluster: str, incident: str) -> Order | None:
        """Who has seen an incident: the last to say so."""
        return max(
            (o for o in self.orders.values() if o.kind == "ack" and (o.cluster, o.incident) == (cluster, incident)),
            key=lambda o: (o.ts_us, o.id),
            default=None,
        )

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
