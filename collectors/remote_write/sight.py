"""What a running receiver hears, for `lockstep collect check`."""

import argparse
import http.client
import ssl
from collections.abc import Iterator

import msgspec

from collectors.dcgm.sight import Seen, gathered, sights_of
from collectors.remote_write.access import authorization, read_address
from collectors.remote_write.intake import SILENT_S, Heard, HeardTarget
from collectors.remote_write.server import HEARD
from collectors.remote_write.source import PORT
from collectors.source import Sight

TIMEOUT_S = 5.0
MOST_BYTES = 64 << 20


def sights(args: argparse.Namespace) -> list[Sight]:
    """One line for each target that pushed, or what to do so that one does. Raises `SourceError` for the options."""
    host, port = read_address("--listen", args.listen, PORT)
    url = f"http{'s' if args.cert else ''}://{args.listen}/api/v1/write"
    try:
        heard = _ask(args, host, port)
    except (OSError, http.client.HTTPException, msgspec.MsgspecError) as why:
        said = getattr(why, "strerror", None) or str(why) or type(why).__name__
        advice = f"start `lockstep collect remote-write`, then give Prometheus: remote_write: [{{url: {url}}}]"
        return [Sight(args.listen, False, "nothing", f"no receiver answers there: {said}", advice)]
    if not heard.targets:
        passed = f", {sum(heard.ignored.values())} samples passed over" if heard.ignored else ""
        advice = f"give Prometheus: remote_write: [{{url: {url}}}], and let DCGM_* through its write_relabel_configs"
        return [Sight(args.listen, False, f"a receiver{passed}", "nothing of a GPU or job was pushed", advice)]
    return gathered(sight for target in heard.targets for sight in _of(target))


def _of(target: HeardTarget) -> Iterator[Sight]:
    if target.gone or target.age_s > SILENT_S:
        lacks = "its series ended" if target.gone else f"nothing for {target.age_s:.0f} s"
        yield Sight(target.name, False, "nothing now", lacks, "see in Prometheus, Status > Targets, why it has none")
    elif target.scrape is not None:
        seen = Seen()
        seen.scrapes.append(target.scrape)
        yield from sights_of(target.name, seen)
    else:
        yield Sight(target.name, True, f"{target.samples} samples, no whole scrape yet")


def _ask(args: argparse.Namespace, host: str, port: int) -> Heard:
    """Raises `OSError`, `HTTPException` and `MsgspecError`."""
    connection: http.client.HTTPConnection
    if args.cert is None:
        connection = http.client.HTTPConnection(host, port, timeout=TIMEOUT_S)
    else:
        # It is our own receiver: whether it answers is what is asked, not who signed its name.
        context = ssl._create_unverified_context()
        if args.client_ca is not None:
            context.load_cert_chain(args.cert, args.key)
        connection = http.client.HTTPSConnection(host, port, timeout=TIMEOUT_S, context=context)
    try:
        header = authorization(args)
        connection.request("GET", HEARD, headers={"Authorization": header} if header else {})
        answer = connection.getresponse()
        if answer.status != 200:
            raise OSError(f"HTTP status {answer.status}")
        return msgspec.json.decode(answer.read(MOST_BYTES), type=Heard)
    finally:
        connection.close()
