"""`lockstep fleet`."""

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to serve, from when on, and where."""
    parser.add_argument("scenario", help="scenario file, or the name of one that comes with Lockstep (`demo`)")
    parser.add_argument(
        "--start-at",
        default="now",
        metavar="WHEN",
        help="when the scenario's clock starts: `now`, `+SECONDS`, or Unix seconds (default: now)",
    )
    parser.add_argument(
        "--dir",
        default=None,
        metavar="D",
        help="folder for sockets, logs and fleet.json, which lists every address (default: .lockstep/fleet)",
    )
    parser.add_argument(
        "--listen", default="127.0.0.1", metavar="HOST", help="address to listen on (default: %(default)s)"
    )


def run(args: argparse.Namespace) -> int:
    """Serve until SIGTERM or Ctrl-C."""
    import asyncio
    from pathlib import Path

    from collectors.contract.kafka import kafka_settings
    from infra.fleet.live import Live, serve, start_us
    from infra.fleet.scenario import load, named

    settings = kafka_settings()
    scenario = load(named(args.scenario))
    folder = Path(args.dir) if args.dir is not None else Path(settings.state) / "fleet"
    live = Live(scenario, folder, args.listen, start_us(args.start_at), settings.cluster)
    asyncio.run(serve(live))
    return 0
