"""`lockstep mute`: be quiet about an incident, a cause or a part for a while. It stays an incident, shown as muted."""

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What, how long, who, why."""
    from streams.ack_command import add_by_and_why

    add_what(parser)
    parser.add_argument("--for", dest="lasts", required=True, metavar="TIME", help="30m, 2h, 1d, 1h30m")
    add_by_and_why(parser)


def add_what(parser: argparse.ArgumentParser) -> None:
    """What a mute is about."""
    parser.add_argument("incident", nargs="?", metavar="INCIDENT", help="id, or its beginning")
    parser.add_argument("--cause", metavar="WORD", help="every incident with this cause")
    parser.add_argument(
        "--part",
        action="append",
        default=[],
        metavar="KIND:NAME",
        help="every incident on this part, as node:node-07; with --cause both must fit; loss is not muted by its place",
    )
    parser.add_argument("--cluster", metavar="NAME", help="of --cause and --part (default: LOCKSTEP_CLUSTER)")


def run(args: argparse.Namespace) -> int:
    """Write the order to Kafka; when it ends with the incident still open, people are told."""
    from streams.incident_log import publish
    from streams.incident_table import order_line
    from streams.orders_said import duration_us, order

    lasts_us = duration_us(args.lasts)
    cluster, incident, cause, parts = what(args)
    said = order("mute", cluster, args.by, args.why, incident=incident, cause=cause, parts=parts, for_us=lasts_us)
    publish(said)
    print(order_line(said, said.ts_us))
    return 0


def what(args: argparse.Namespace) -> tuple[str, str | None, str | None, list[str]]:
    """Cluster, incident, cause and parts that are meant. Raises `UserError`."""
    import difflib

    from collectors.contract.errors import UserError
    from collectors.contract.kafka import kafka_settings
    from streams.causes import UNKNOWN, cause_row, causes
    from streams.incident_log import find, incidents
    from streams.orders_said import part

    if (args.incident is None) == (args.cause is None and not args.part):
        raise UserError("name an INCIDENT, or a --cause or --part or both")
    if args.incident is not None:
        found = find(args.incident, incidents())
        return found.cluster, found.id, None, []
    if args.cause is not None and cause_row(args.cause) is UNKNOWN:
        near = difflib.get_close_matches(args.cause, causes(), n=3)
        raise UserError(f"{args.cause}: no such cause" + (f"; near are {', '.join(near)}" if near else ""))
    return args.cluster or kafka_settings().cluster, None, args.cause, [part(text) for text in args.part]
