"""The NICs of a host: what their RDMA transport had to repeat."""

import random

from collectors.contract.fabric import Port, PortScrape
from infra.fleet.noise import poisson

COUNTERS = ("rdma_ack_timeouts", "rdma_rx_nak_seq_err", "rdma_rx_out_of_sequence", "port_rx_packets", "port_tx_packets")
USUAL_S = 0.004
"""Retries a second of a sound path: a few in an hour."""
SPEED_GBPS = 400.0


class Nics:
    """All of one host. `tick` moves them on; `scrape` is what a collector on the host reads."""

    def __init__(self, rng: random.Random, node: str, count: int) -> None:
        self._rng = rng
        self._node = node
        self._values = [[0] * count for _ in COUNTERS]

    def tick(self, dt_s: float, retries: list[float], packets: list[float]) -> None:
        """Move on by `dt_s`: retries and packets a second of each NIC."""
        rng = self._rng
        timeouts, naks, order, rx, tx = self._values
        for i, (lost, rate) in enumerate(zip(retries, packets, strict=True)):
            timeouts[i] += poisson(rng, (lost * 0.4 + USUAL_S) * dt_s)
            naks[i] += poisson(rng, (lost * 0.6 + USUAL_S) * dt_s)
            order[i] += poisson(rng, lost * dt_s)
            rx[i] += int(rate * dt_s)
            tx[i] += int(rate * dt_s)

    def scrape(self, ts_us: int, cluster: str) -> PortScrape:
        """As read now."""
        return PortScrape(
            cluster=cluster,
            ts_us=ts_us,
            device=self._node,
            kind="nic",
            node=self._node,
            epoch="1",
            ports=[
                Port(name=f"rdma{i}", speed_gbps=SPEED_GBPS, link_layer="ethernet", oper_up=True)
                for i in range(len(self._values[0]))
            ],
            columns={name: list(row) for name, row in zip(COUNTERS, self._values, strict=True)},
        )
