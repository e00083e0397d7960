"""`lockstep watch`."""

import argparse

HOUR_US = 3_600_000_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which cluster, and whether to stay."""
    parser.add_argument("--cluster", metavar="NAME", help="default: LOCKSTEP_CLUSTER")
    parser.add_argument("--once", action="store_true", help="print one picture and end (as without a terminal)")


def run(args: argparse.Namespace) -> int:
    """Follow Kafka until `q`; without a terminal one picture."""
    import sys
    import time

    from rich.console import Console

    from collectors.contract.kafka import kafka_client, kafka_settings
    from collectors.contract.message import Message
    from collectors.contract.topics import COLLECTOR_BEATS, NODE_STATES, REJECTED
    from infra.kafka.listener import Listener
    from infra.topics import admin_client, existing
    from infra.watch.board import Board
    from infra.watch.live import Screen, Watching
    from infra.watch.view import render
    from streams.contract import FINDINGS, INCIDENTS, NODE_HEALTH, Incident
    from streams.incident_log import publish
    from streams.orders_said import order

    cluster = args.cluster or kafka_settings().cluster
    board = Board()

    def take(message: Message) -> None:
        if message.cluster == cluster:
            board.take(message)

    def seen(incident: Incident) -> str:
        said = order("ack", incident.cluster, None, "", incident=incident.id)
        publish(said)
        return said.by

    client, now_us = kafka_client(), time.time_ns() // 1000
    existing(admin_client(client))
    recent = {COLLECTOR_BEATS.name: now_us - 120_000_000, FINDINGS.name: now_us - HOUR_US, REJECTED.name: now_us}
    listener = Listener(
        client, (INCIDENTS, NODE_HEALTH, NODE_STATES, FINDINGS, COLLECTOR_BEATS, REJECTED), take, recent
    )
    listener.start()
    try:
        if args.once or not (sys.stdin.isatty() and sys.stdout.isatty()):
            listener.caught_up.wait(30.0)
            console = Console()
            nodes = board.nodes()
            now_us = time.time_ns() // 1000
            status = time.strftime("%H:%M:%S")
            console.print(render(board, nodes, now_us, f"Lockstep  {cluster}", status, width=console.width))
            return 0
        Watching(Screen(board, cluster), listener, seen).run()
        return 0
    finally:
        listener.close()
