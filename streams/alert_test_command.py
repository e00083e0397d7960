"""`lockstep alert-test`: a test page to everybody who would be told, and what each answered."""

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """How long the test stays open, and how grave it is."""
    parser.add_argument(
        "--for",
        dest="lasts",
        default="30s",
        metavar="TIME",
        help="how long it stays open (default 30s; Alertmanager tells nobody before its group_wait is over)",
    )
    parser.add_argument("--ticket", action="store_true", help="a ticket, instead of a page that wakes somebody")


def run(args: argparse.Namespace) -> int:
    """Status 1 when anybody did not take it."""
    import asyncio

    return asyncio.run(_run(args))


async def _run(args: argparse.Namespace) -> int:
    from pathlib import Path

    from collectors.contract.kafka import kafka_settings
    from streams.alert_trial import try_alerts
    from streams.orders_said import duration_us
    from streams.settings import stream_settings

    kafka, for_s = kafka_settings(), duration_us(args.lasts) / 1e6
    all_took_it, before = True, None
    async for reply in try_alerts(
        stream_settings(), Path(kafka.state), kafka.cluster, "warning" if args.ticket else "critical", for_s
    ):
        if reply.event != before:
            print(f"{reply.event}, a {'ticket' if args.ticket else 'page'}, and it says TEST")
            before = reply.event
        answer = reply.answer
        words = "is not told of tickets" if answer is None else "took it" if answer.taken else "did NOT take it"
        said = f": {answer.words}" if answer is not None and answer.words else ""
        print(f"  {reply.receiver}  {words}{said}", flush=True)
        all_took_it &= answer is None or answer.taken
    return 0 if all_took_it else 1
