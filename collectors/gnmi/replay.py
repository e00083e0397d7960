"""A recording -> scrapes, by the way that live bytes take."""

import argparse
from pathlib import Path

from collectors.contract.kafka import kafka_settings
from collectors.contract.topics import FABRIC_LINKS, FABRIC_SCRAPES
from collectors.fabric.series import Site
from collectors.fabric.site import site_of
from collectors.gnmi.decoder import Decoder
from collectors.gnmi.intake import take
from collectors.gnmi.recorded import read_recorded
from collectors.source import Outlet, SourceError
from collectors.whole_file import read_whole

MOST_BYTES = 1 << 30


def replay(args: argparse.Namespace, outlet: Outlet) -> int:
    """Publish a scrape a round of every device of the file. Returns the number of messages. Raises `SourceError`."""
    name, site = str(args.responses), site_of(args.lossless, args.queue)
    messages = play(
        _text(args.responses), name, outlet, device=args.device, site=site, cluster=kafka_settings().cluster
    )
    if messages == 0:
        raise SourceError(f"{name}: no update in it")
    return messages


def play(text: str, name: str, outlet: Outlet, *, device: str | None, site: Site, cluster: str) -> int:
    """A recording's text -> messages, their number. `device` None: as the recording says. Raises `RecordedError`."""
    decoders: dict[str, Decoder] = {}
    messages = 0

    def reject(raw: bytes, why: str) -> None:
        outlet.reject(f"gnmi:{name}", raw, why)

    for recorded in read_recorded(text, name):
        called = device or recorded.device or "switch"
        decoder = decoders.get(called)
        if decoder is None:
            decoder = decoders[called] = Decoder(called, cluster=cluster, site=site, keep_ignored=True)
        scrape, error = take(decoder, recorded.raw, None, reject=reject)
        if error is not None:
            reject(recorded.raw, error)
        if scrape is not None:
            outlet.publish(FABRIC_SCRAPES, scrape)
            messages += 1
    for decoder in decoders.values():
        if (scrape := decoder.cut()) is not None:
            outlet.publish(FABRIC_SCRAPES, scrape)
            messages += 1
        for link in decoder.links():
            outlet.publish(FABRIC_LINKS, link)
            messages += 1
    return messages


def _text(path: Path) -> str:
    raw, _ = read_whole(path, MOST_BYTES)
    try:
        return raw.decode()
    except UnicodeDecodeError as why:
        raise SourceError(f"{path}: not text: {why.reason}; a recording is JSON") from why
