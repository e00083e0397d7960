"""`lockstep ack`: say that you have seen an incident."""

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which incident, who, why."""
    parser.add_argument("incident", metavar="INCIDENT", help="id, or its beginning, from `lockstep incidents`")
    add_by_and_why(parser)


def add_by_and_why(parser: argparse.ArgumentParser) -> None:
    """Options of every order."""
    parser.add_argument("--by", metavar="NAME", help="who says so (default: $USER)")
    parser.add_argument("--why", default="", metavar="WORDS", help="shown beside it")


def run(args: argparse.Namespace) -> int:
    """Write the order to Kafka; every view shows it within seconds."""
    from collectors.contract.errors import UserError
    from streams.incident_log import find, incidents, publish
    from streams.orders_said import order

    found = find(args.incident, incidents())
    if found.state == "cleared":
        raise UserError(f"{found.id} is over already: {found.summary}")
    said = order("ack", found.cluster, args.by, args.why, incident=found.id)
    publish(said)
    print(f"{found.id} ({found.cause_word} on {found.subject.kind} {found.subject.id}): seen by {said.by}")
    return 0
