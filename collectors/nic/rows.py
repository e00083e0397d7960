"""What was read of one interface -> a row. Pure functions."""

from collections.abc import Iterable, Sequence

from collectors.contract.fabric import Port
from collectors.fabric.pci import link_value
from collectors.fabric.reading import Raw, text
from collectors.fabric.rows import Row
from collectors.infiniband.sysfs import UNKNOWN, File
from collectors.nic.interfaces import Interface
from collectors.nic.names import system_of

UP = "up"


def row(
    interface: Interface,
    statistics: Iterable[tuple[str, Raw]],
    files: Sequence[tuple[File, bytes | None]],
    lossless: tuple[int, ...] | None,
) -> Row:
    """`statistics` under the driver's names; `files` as they stood."""
    texts = {f.native: raw.decode("ascii", "replace") for f, raw in files if f.system == "netdev" and raw is not None}
    mbps = texts.get("speed", "")
    port = Port(
        name=interface.name,
        # 0 and -1 stand for a link that is down, and for a device that knows no speed.
        speed_gbps=int(mbps) / 1000 if mbps.isdecimal() and 0 < int(mbps) < 1 << 31 else None,
        link_layer=interface.link_layer,  # type: ignore[arg-type]
        lossless=None if lossless is None else list(lossless),
        oper_up=texts["operstate"] == UP if texts.get("operstate") in ("up", "down", "lowerlayerdown") else None,
    )
    out = Row(port, epoch=f"if:{interface.index}" if interface.index else "")
    facts = {"driver": interface.driver, "pci": interface.pci[-1] if interface.pci else None}
    facts |= {"rdma_device": ",".join(interface.rdma) or None}
    out.named = {name: value for name, value in facts.items() if value is not None}
    _statistics(out, interface.driver, list(statistics))
    for file, raw in files:
        if file.system == "pci_sysfs":
            out.values.append((file.system, file.native, link_value(file.native, raw)))
        elif file.system == UNKNOWN:
            out.named[file.native] = None if raw is None else text(raw.decode("utf-8", "replace"))
        elif file.system != "netdev":
            out.values.append((file.system, file.native, None if raw is None else raw.decode("utf-8", "replace")))
        elif file.native not in ("speed", "operstate"):
            out.values.append(("netdev_sysfs", file.native, None if raw is None else raw.decode("utf-8", "replace")))
    out.values += [("pci_sysfs", native, value) for native, value in interface.most]
    return out


def statistics_row(port: Port, driver: str | None, statistics: list[tuple[str, Raw]]) -> Row:
    """A saved text of `ethtool -S`, which tells neither its interface nor its driver."""
    out = Row(port)
    _statistics(out, driver, statistics)
    return out


def _statistics(out: Row, driver: str | None, statistics: list[tuple[str, Raw]]) -> None:
    system = system_of(driver, [name for name, _ in statistics])
    if system is None:
        out.named |= {name: text(value) for name, value in statistics}
    else:
        out.values += [(system, name, value) for name, value in statistics]
