"""What was read of the fabric -> a scrape a device, and a link a cabled port."""

from collections.abc import Mapping

from collectors.contract.fabric import Link, PortScrape
from collectors.fabric.rows import Device, Row, scrapes
from collectors.infiniband.names import Kind, Station
from collectors.infiniband.reading import Cable, Reading

_Where = tuple[str, Kind, str | None]


def messages(reading: Reading, *, ts_us: int, cluster: str, keep_ignored: bool = False) -> list[PortScrape]:
    """One message a switch, and one a host with all of its adapters. `ts_us` where the source tells no time."""
    rows: dict[_Where, list[Row]] = {}
    times: dict[_Where, int] = {}
    for station, ports in reading.stations.items():
        where: _Where = (station.device, station.kind, station.node)
        rows.setdefault(where, []).extend(ports.values())
        told = reading.times_us.get(station)
        if told is not None:
            times[where] = max(told, times.get(where, 0))
    out: list[PortScrape] = []
    for where, of_device in rows.items():
        device = Device(
            name=where[0],
            kind=where[1],
            node=where[2],
            cluster=cluster,
            ts_us=times.get(where, ts_us),
            keep_ignored=keep_ignored,
        )
        out += scrapes(of_device, device)
    return out


def links(cables: list[Cable], *, ts_us: int, cluster: str) -> Mapping[str, Link]:
    """Key on the topic -> link."""
    out = {}
    for cable in cables:
        link = Link(
            cluster=cluster,
            ts_us=ts_us,
            device=cable.near.device,
            port=cable.port,
            far_device=cable.far.device,
            far_port=cable.far_port,
            far_kind=cable.far.kind,
            node=_node(cable.far),
            source="inventory",
        )
        out[f"{cluster}/{link.device}/{link.port}"] = link
    return out


def _node(far: Station) -> str | None:
    return far.node if far.kind == "hca" else None
