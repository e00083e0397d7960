"""`lockstep unmute`: end a mute before its time."""

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What was muted, who, why."""
    from streams.ack_command import add_by_and_why
    from streams.mute_command import add_what

    add_what(parser)
    add_by_and_why(parser)


def run(args: argparse.Namespace) -> int:
    """Write the order to Kafka; an incident that is still open is told."""
    import time

    from collectors.contract.errors import UserError
    from streams.incident_log import orders, publish
    from streams.incident_table import order_line
    from streams.mute_command import what
    from streams.orders import in_force
    from streams.orders_said import order

    cluster, incident, cause, parts = what(args)
    said = order("unmute", cluster, args.by, args.why, incident=incident, cause=cause, parts=parts)
    now_us = time.time_ns() // 1000
    muted = [o for o in orders() if o.kind == "mute" and in_force(o, now_us)]
    if not any((o.cluster, o.id) == (said.cluster, said.id) for o in muted):
        there = "; ".join(order_line(o, now_us) for o in muted[:5])
        raise UserError(f"nothing is muted so; {there or 'nothing is muted at all'}")
    publish(said)
    print(f"{' '.join(filter(None, (incident, cause, *parts)))} is no longer muted")
    return 0
