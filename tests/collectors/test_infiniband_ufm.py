"""UFM telemetry in its three forms, and delta streams."""

import json
from typing import Any

import pytest

from collectors.infiniband.messages import messages
from collectors.infiniband.reading import Reading
from collectors.infiniband.ufm import Ufm
from tests.collectors import ib_texts as texts


def entry(port: int, **counters: Any) -> dict[str, Any]:
    return {"timestamp": 1709652347161873, "node_guid": "0x0c42a103007ab890", "port_num": port, **counters}


def told(reading: Reading) -> Any:
    [scrape] = messages(reading, ts_us=1, cluster="c")
    return scrape


def test_prometheus_text_joins_guids_with_and_without_their_zeros() -> None:
    [reading] = Ufm().read(texts.UFM_PROMETHEUS)
    scrape = told(reading)
    assert (scrape.device, scrape.ts_us, scrape.ports[0].name) == ("0x0002c90300f172a0", 1628683905941000, "2")
    assert scrape.columns == {"ib_tx_words": [85554128244], "ib_tx_discard_packets": [4]}


def test_csv_with_the_keys_of_the_secondary_set() -> None:
    [reading] = Ufm().read(texts.UFM_CSV)
    scrape = told(reading)
    assert (scrape.ts_us, [port.name for port in scrape.ports]) == (1709652347161874, ["1", "2"])
    assert scrape.columns["ib_tx_words"] == [55, None]
    assert scrape.columns["ib_symbol_ber"] == [1e-254, 1.5e-254]
    assert scrape.columns["module_temperature"] == [41.0, None]
    assert reading.unread == []


def test_a_delta_holds_what_changed_and_the_rest_stands() -> None:
    ufm = Ufm()
    full = {"type": "full", "values": [entry(1, Infiniband_LinkDowned_u_Errors=1, hist0_u_count=0), entry(2)]}
    delta = {"type": "delta", "values": [entry(1, Infiniband_LinkDowned_u_Errors=2)]}
    first, second = ufm.read(json.dumps(full) + "\n" + json.dumps(delta))
    assert (told(first).columns, told(second).columns) == (
        {"ib_link_down_events": [1, None]},
        {"ib_link_down_events": [2, None]},
    )
    assert told(second).named == {"hist0_u_count": [0, None]}
    [third] = ufm.read(json.dumps(full))
    assert told(third).columns == {"ib_link_down_events": [1, None]}


def test_a_port_of_several_planes_goes_by_its_system() -> None:
    plane = {"timestamp": 5, "sys_image_guid": "0xab", "aport": 3, "PortXmitDataExtended": 7}
    [reading] = Ufm().read(json.dumps({"values": [plane]}))
    assert (told(reading).device, told(reading).ports[0].name) == ("0x00000000000000ab", "3")


def test_a_description_names_the_host() -> None:
    [reading] = Ufm().read(json.dumps({"values": [entry(1, node_description="node-01 mlx5_0", Link_Down_IB=1)]}))
    assert (told(reading).device, told(reading).ports[0].name, told(reading).kind) == ("node-01", "mlx5_0", "hca")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("", "neither JSON, CSV nor Prometheus"),
        ("<html>login</html>", "neither JSON, CSV nor Prometheus"),
        ('{"values": [{"node_guid": "0x1"', "not JSON, or cut"),
        ('{"error": "no"}', "values"),
        ("a,b,c,d\n1,2,3,4\n", "node_guid"),
    ],
)
def test_what_is_no_telemetry_says_why(body: str, said: str) -> None:
    [reading] = Ufm().read(body)
    assert said in (reading.failed or "")


def test_one_bad_row_costs_itself() -> None:
    [reading] = Ufm().read(texts.UFM_CSV.replace("\n1709652347161874,0x1", "\n1709652347161874,0x1,extra"))
    assert [port.name for port in told(reading).ports] == ["1"]
    assert len(reading.unread) == 1


def test_a_time_outside_the_calendar_is_none() -> None:
    odd = {"type": "full", "values": [entry(1, PortXmitDiscards=3) | {"timestamp": 854170965237161874}]}
    [reading] = Ufm().read(json.dumps(odd))
    assert told(reading).ts_us == 1
