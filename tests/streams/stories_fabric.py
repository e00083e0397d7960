"""Made-up histories for the fabric's detectors, a scrape a minute."""

from collections.abc import Sequence

from msgspec import structs

from collectors.contract.gpu import GpuScrape
from tests.streams.fabric import S, host, line, ports, saturating
from tests.streams.scrapes import gpus
from tests.streams.story_form import Item, Story, Stretch


def pause(stretches: Sequence[Stretch]) -> list[Item]:
    out: list[Item] = []
    storms = held = sent = 0
    share = {"pressed": 0.3, "stuck": 0.95}
    for word, length in stretches:
        for _ in range(length):
            storms += word == "stormed"
            held += int(60 * S * share.get(word, 0.01))
            sent += 0 if word == "stuck" else 1000
            told = {"pfcwd_storm_detected.3": storms, "pfc_rx_pause_us.3": held, "queue_tx_packets.3": sent}
            cells = {name: [0, None if word == "unreadable" else value] for name, value in told.items()}
            out.append(ports(60 * len(out), cells))
    return out


def link(stretches: Sequence[Stretch]) -> list[Item]:
    out: list[Item] = []
    broken = wrong = 0
    for word, length in stretches:
        for _ in range(length):
            broken += 7 * (word == "spoiling")
            wrong += 2 * (word == "symbols")
            told = {"port_rx_fcs_error_frames": broken, "ib_symbol_errors": wrong}
            cells = {name: [0, None if word == "unreadable" else value] for name, value in told.items()}
            out.append(ports(60 * len(out), cells, up=True))
    return out


def flaps(stretches: Sequence[Stretch]) -> list[Item]:
    """A switch port, every two minutes."""
    out: list[Item] = []
    downs = 0
    for word, length in stretches:
        for tick in range(length):
            downs += word == "flapping" or (word == "down" and tick == 0)
            up = [True, None if word == "unreadable" else word != "down"]
            scrape = ports(120 * len(out), {"port_link_down_events": [0, None if word == "unreadable" else downs]})
            told = [structs.replace(port, oper_up=is_up) for port, is_up in zip(scrape.ports, up, strict=True)]
            out.append(structs.replace(scrape, ports=told))
    return out


def flaps_in_the_log(stretches: Sequence[Stretch]) -> list[Item]:
    """A NIC that nobody scrapes, on a node whose GPUs are scraped every two minutes."""
    out: list[Item] = []
    scrapes, down = 0, False
    for word, length in stretches:
        for tick in range(length):
            at_s = 120 * scrapes
            scrapes += 1
            out.append(GpuScrape(node="n1", ts_us=at_s * S, gpus=gpus(1), columns={"100": [1900.0]}))
            if down and word != "down":
                out.append(line(at_s + 1, "link_up"))
                down = False
            if word == "flapping":
                out += [line(at_s + 2, "link_down"), line(at_s + 6, "link_up")]
            elif word == "down" and tick == 0 and not down:
                out.append(line(at_s + 2, "link_down"))
                down = True
    return out


def transport(stretches: Sequence[Stretch]) -> list[Item]:
    """A NIC, a scrape a minute."""
    out: list[Item] = []
    timeouts = strays = 0
    for word, length in stretches:
        for _ in range(length):
            timeouts += 40 * (word == "retrying")
            strays += 9000 * (word == "sprayed")
            told = {"rdma_ack_timeouts": timeouts, "rdma_rx_out_of_sequence": strays}
            cells = {name: [0, None if word == "unreadable" else value] for name, value in told.items()}
            out.append(host(60 * len(out), cells))
    return out


def blind(stretches: Sequence[Stretch]) -> list[Item]:
    """An InfiniBand port whose counters stop at their end, a scrape a minute."""
    out: list[Item] = []
    for word, length in stretches:
        for _ in range(length):
            told = {
                "ib_tx_discard_packets": None if word == "missing" else 65535 if word == "saturated" else 7,
                "ib_link_down_events": 3,
            }
            cells = {name: [0, None if word == "unreadable" else value] for name, value in told.items()}
            forms = saturating(16, "ib_tx_discard_packets")
            out.append(ports(60 * len(out), cells, forms=forms, link_layer="infiniband"))
    return out


FABRIC_STORIES = (
    Story(detector="pause", words=("calm", "stormed", "stuck", "pressed", "unreadable"), tell=pause, least=12, most=20),
    Story(
        detector="link_quality",
        words=("calm", "spoiling", "symbols", "unreadable"),
        tell=link,
        least=12,
        most=40,
        back=60,
        examples=15,
    ),
    Story(
        detector="link_flap",
        words=("calm", "flapping", "down", "unreadable"),
        tell=flaps,
        least=12,
        most=40,
        back=60,
        examples=15,
    ),
    Story(
        detector="link_flap",
        words=("calm", "flapping", "down"),
        tell=flaps_in_the_log,
        least=12,
        most=40,
        back=120,
        examples=15,
    ),
    Story(
        detector="transport",
        words=("calm", "retrying", "sprayed", "unreadable"),
        tell=transport,
        least=8,
        most=16,
        back=60,
    ),
    Story(
        detector="counter_blind", words=("calm", "saturated", "missing", "unreadable"), tell=blind, least=12, most=20
    ),
)
