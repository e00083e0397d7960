"""Which table knows the statistics of a driver."""

from collections.abc import Sequence

from collectors.fabric.vocabulary import counter_table

BY_DRIVER = {
    "mlx5_core": "ethtool_mlx5",
    "bnxt_en": "ethtool_bnxt",
    "ena": "ethtool_ena",
    "gve": "ethtool_gve",
    "gvnic": "ethtool_gve",
}
SYSTEMS = ("ethtool_mlx5", "ethtool_bnxt", "ethtool_ena", "ethtool_gve")
TELLING = 3
"""Names that one table must know at the least where no driver is told."""


def system_of(driver: str | None, names: Sequence[str]) -> str | None:
    """The table; None: none, so that every statistic keeps its own name."""
    if driver is not None:
        return BY_DRIVER.get(driver)
    known = {system: sum(_telling(system, name) for name in names) for system in SYSTEMS}
    best = max(known, key=lambda system: known[system])
    return best if known[best] >= TELLING else None


def _telling(system: str, name: str) -> bool:
    """A name that means something there; `rx_bytes` is everybody's."""
    found = counter_table(system).find(name)
    return found is not None and not found.ignored and name not in ("rx_bytes", "tx_bytes", "rx_packets", "tx_packets")
