"""A saved `ethtool -S`."""

from collections.abc import Hashable, Mapping

from collectors.contract.fabric import Port
from collectors.contract.topics import FABRIC_SCRAPES
from collectors.fabric.rows import Device
from collectors.nic.saved import swept_text
from tests.collectors.list_outlet import ListOutlet
from tests.collectors.nic_texts import BNXT, ENA, GVE, MLX5
from tests.fuzz.infiniband import cells
from tests.fuzz.parser import Parser


def parse(driver: str, raw: bytes) -> ListOutlet:
    """With the driver named: without it a text that is cut may be taken for another driver's, or for none's."""
    outlet = ListOutlet()
    device = Device(name="n1", kind="nic", node="n1", cluster="c", ts_us=1, keep_ignored=True)
    swept = swept_text(raw, Port(name="eth0"), driver, device)
    for topic, message in swept.messages:
        outlet.publish(topic, message)
    for bad, why in swept.rejects:
        outlet.reject("nic:eth0", bad, why)
    return outlet


def numbers(result: ListOutlet) -> Mapping[Hashable, float | None]:
    """Every cell."""
    found: dict[Hashable, float | None] = {}
    for scrape in result.of(FABRIC_SCRAPES):
        found.update(cells(scrape, 1))
    return found


def _parser(driver: str, text: str) -> Parser:
    return Parser(f"nic ethtool {driver}", (text.encode(),), lambda raw: parse(driver, raw), numbers)


PARSERS = (
    _parser("mlx5_core", MLX5),
    _parser("bnxt_en", BNXT),
    _parser("ena", ENA),
    _parser("gve", GVE),
)
