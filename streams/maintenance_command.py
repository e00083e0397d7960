"""`lockstep maintenance`: say where people work, so that links that go down and parts that fall silent wake nobody."""

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Where, from when, how long, who, why."""
    from streams.ack_command import add_by_and_why

    parser.add_argument(
        "parts",
        nargs="*",
        metavar="KIND:NAME",
        help="node:node-07, rack:r2, device:leaf-3, port:leaf-3/Ethernet8; none: list the work that is known",
    )
    parser.add_argument("--for", dest="lasts", metavar="TIME", help="30m, 2h, 1d, 1h30m")
    parser.add_argument("--in", dest="after", metavar="TIME", help="it begins so long from now (default: now)")
    parser.add_argument("--end", action="store_true", help="the work on these parts is done")
    parser.add_argument("--cluster", metavar="NAME", help="default: LOCKSTEP_CLUSTER")
    add_by_and_why(parser)


def run(args: argparse.Namespace) -> int:
    """Write the order to Kafka. It excuses links and silence, never loss."""
    import difflib
    import sys
    import time

    from collectors.contract.errors import UserError
    from collectors.contract.kafka import kafka_settings
    from streams.contract import Order
    from streams.incident_log import nodes, orders, publish
    from streams.incident_table import order_line
    from streams.orders_said import PLACES, duration_us, order, order_id, part

    def known() -> list[Order]:
        now_us = time.time_ns() // 1000
        return [o for o in orders() if o.kind == "maintenance" and (o.until_us is None or now_us < o.until_us)]

    if not args.parts:
        lines = [order_line(o, time.time_ns() // 1000) for o in known()]
        print("\n".join(lines) if lines else "no planned work")
        return 0
    cluster = args.cluster or kafka_settings().cluster
    parts = [part(text, PLACES) for text in args.parts]
    if args.end:
        name = order_id("maintenance", None, None, parts)
        if not any((o.cluster, o.id) == (cluster, name) for o in known()):
            there = "; ".join(order_line(o, time.time_ns() // 1000) for o in known()[:5])
            raise UserError(f"no work is planned on {' '.join(parts)}; {there or 'none is planned at all'}")
        ended = order("maintenance", cluster, args.by, args.why, parts=parts, for_us=0)
        publish(ended)
        print(f"the work on {' '.join(parts)} is done")
        return 0
    if args.lasts is None:
        raise UserError("say how long: --for 2h")
    after_us = duration_us(args.after) if args.after else 0
    said = order(
        "maintenance", cluster, args.by, args.why, parts=parts, after_us=after_us, for_us=duration_us(args.lasts)
    )
    publish(said)
    print(order_line(said, said.ts_us))
    reporting = nodes(cluster)
    for name in [p.partition(":")[2] for p in parts if p.startswith("node:")]:
        if reporting and name not in reporting:
            near = difflib.get_close_matches(name, sorted(reporting), n=3)
            hint = f"; near are {', '.join(near)}" if near else ""
            sys.stderr.write(f"lockstep maintenance: no node {name} has reported so far{hint}; the order stands\n")
    return 0
