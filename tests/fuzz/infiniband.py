"""InfiniBand: texts of tools, ibdiagnet and UFM, and the files of sysfs."""

from collections.abc import Hashable, Mapping

from collectors.contract.fabric import PortScrape
from collectors.contract.topics import FABRIC_SCRAPES
from collectors.fabric.rows import Device, scrapes
from collectors.infiniband.files import Texts, reader
from collectors.infiniband.host_rows import rows
from collectors.infiniband.sysfs import File, PortTree, Told
from tests.collectors import ib_texts as texts
from tests.collectors.list_outlet import ListOutlet
from tests.fuzz.parser import Parser

FILES = (
    File("ib_sysfs", "state", "state"),
    File("ib_sysfs", "rate", "rate"),
    File("ib_sysfs", "link_layer", "link_layer"),
    File("ib_sysfs", "link_downed", "link_downed"),
    File("ib_sysfs/32", "port_xmit_data", "port_xmit_data"),
    File("mlx5_hw_counters", "out_of_sequence", "out_of_sequence"),
    File("pci_sysfs", "current_link_speed", "current_link_speed"),
    File("unknown_hw_counters", "odd", "odd"),
)


def _text(kind: str) -> "Parser":
    seeds = {
        "perfquery": (texts.PERFQUERY, texts.PERFQUERY_X),
        "ibqueryerrors": (texts.IBQUERYERRORS,),
        "iblinkinfo": (texts.IBLINKINFO,),
        "ibnetdiscover": (texts.IBNETDISCOVER, texts.IBNETDISCOVER_P),
        "ibdiagnet": (texts.DB_CSV,),
        "ufm": (texts.UFM_PROMETHEUS, texts.UFM_CSV, UFM_JSON),
    }[kind]

    def parse(raw: bytes) -> ListOutlet:
        outlet = ListOutlet()
        swept = Texts(reader(kind, {}, None), "c", keep_ignored=True).swept(raw, 1)
        for topic, message in swept.messages:
            outlet.publish(topic, message)
        for bad, why in swept.rejects:
            outlet.reject(f"infiniband:{kind}", bad, why)
        return outlet

    return Parser(f"infiniband {kind}", tuple(seed.encode() for seed in seeds), parse, numbers)


UFM_JSON = """{"timestamp": "2026-01-05 10:00:00", "type": "full", "values": [
 {"timestamp": 1709652347161873, "node_guid": "0x0c42a103007ab890", "port_num": 1, "Infiniband_XmtDiscards_u_Errors": 12345}]}
{"type": "delta", "values": [{"node_guid": "0x0c42a103007ab890", "port_num": 1, "Infiniband_XmtDiscards_u_Errors": 12399}]}
"""  # noqa: E501 (one line as UFM writes it)


def numbers(result: ListOutlet) -> Mapping[Hashable, float | None]:
    """Every cell, by message of its device, port and counter."""
    found: dict[Hashable, float | None] = {}
    of_device: dict[str, int] = {}
    for scrape in result.of(FABRIC_SCRAPES):
        number = of_device[scrape.device] = of_device.get(scrape.device, 0) + 1
        found.update(cells(scrape, number))
    return found


def cells(scrape: PortScrape, number: int) -> dict[Hashable, float | None]:
    """What stands in the columns, and what stands at its end."""
    out: dict[Hashable, float | None] = {}
    for name, row in (*scrape.columns.items(), *((f"end of {n}", r) for n, r in scrape.saturated.items())):
        for port, value in zip(scrape.ports, row, strict=True):
            out[scrape.device, number, port.name, name] = value
    return out


def parse_sysfs(raw: bytes) -> ListOutlet:
    """One line a file, in the order of `FILES`; what is no file is read as one that cannot be."""
    outlet = ListOutlet()
    lines = raw.split(b"\n")
    told = [(file, lines[i].strip() if i < len(lines) and lines[i] else None) for i, file in enumerate(FILES)]
    tree = PortTree("mlx5_0", "1", FILES)
    device = Device(name="n1", kind="hca", node="n1", cluster="c", ts_us=1)
    for scrape in scrapes(rows([Told(tree, told)]), device):
        outlet.publish(FABRIC_SCRAPES, scrape)
    return outlet


SYSFS = Parser(
    "infiniband sysfs",
    (b"4: ACTIVE\n400 Gb/sec (4X NDR)\nInfiniBand\n255\n77\n5\n32.0 GT/s PCIe\n1\n", b"\nN/A (no PMA)\n\n254\n0\n"),
    parse_sysfs,
)
"""No `numbers`: the kernel hands over a file whole, and a cut of one is another number."""

PARSERS = (*map(_text, ("perfquery", "ibqueryerrors", "iblinkinfo", "ibnetdiscover", "ibdiagnet", "ufm")), SYSFS)
