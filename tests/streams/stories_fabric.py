"""Made-up histories for the fabric's detectors, a scrape a minute."""

from collections.abc import Sequence

from tests.streams.fabric import S, ports
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
)
