"""A recording -> scrapes, by the way that live bytes take."""

import argparse
import sys
from pathlib import Path

from collectors.contract.kafka import kafka_settings
from collectors.contract.topics import FABRIC_LINKS, FABRIC_SCRAPES
from collectors.fabric.site import site_of
from collectors.gnmi.decoder import Decoder, StreamError
from collectors.gnmi.recorded import read_recorded
from collectors.source import Outlet, SourceError


def replay(args: argparse.Namespace, outlet: Outlet) -> int:
    """Publish a scrape a round of every device of the file. Returns the number of messages."""
    name = str(args.responses)
    decoders: dict[str, Decoder] = {}
    messages = 0
    for recorded in read_recorded(_text(args.responses), name):
        device = args.device or recorded.device or "switch"
        decoder = decoders.get(device)
        if decoder is None:
            decoder = decoders[device] = Decoder(
                device,
                cluster=kafka_settings().cluster,
                site=site_of(args.lossless, args.queue),
                keep_ignored=True,
            )
        try:
            scrape = decoder.feed(recorded.raw)
        except StreamError as why:
            outlet.reject(f"gnmi:{name}", recorded.raw, str(why))
            continue
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
    if messages == 0:
        raise SourceError(f"{name}: no update in it")
    return messages


def _text(path: Path) -> str:
    try:
        return sys.stdin.read() if str(path) == "-" else path.read_text()
    except OSError as why:
        raise SourceError(f"{path}: {why.strerror}") from why
    except UnicodeDecodeError as why:
        raise SourceError(f"{path}: not text: {why.reason}; a recording is JSON") from why
