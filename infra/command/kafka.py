"""`lockstep kafka start|stop|status`."""

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to do with the local Kafka."""
    parser.add_argument("do", choices=("start", "stop", "status"), help="start it, stop it, or show it")
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1 (default: the last one, or a free one)")


def run(args: argparse.Namespace) -> int:
    """Exit status of `status`: 0 it runs, 1 it does not."""
    from pathlib import Path

    from collectors.contract.kafka import kafka_settings
    from infra.kafka import local

    folder = Path(kafka_settings().state) / "kafka"
    if args.do == "start":
        broker = local.start(folder, port=args.port)
        print(f"Kafka runs at {broker.bootstrap}, pid {broker.pid}, data in {folder}")
        return 0
    if args.do == "stop":
        print("Kafka stopped" if local.stop(folder) else f"no Kafka ran in {folder}")
        return 0
    running = local.status(folder)
    if running is None:
        print(f"no Kafka runs in {folder}; `lockstep kafka start` starts one")
        return 1
    print(f"Kafka runs at {running.bootstrap}, pid {running.pid}, data in {folder}")
    return 0
