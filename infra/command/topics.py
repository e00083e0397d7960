"""`lockstep topics`."""

import argparse
import sys


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to do about what differs."""
    parser.add_argument("--check", action="store_true", help="create nothing; exit 1 if anything differs")
    parser.add_argument("--apply", action="store_true", help="alter existing topics to what the contract says")
    parser.add_argument(
        "--replication",
        type=int,
        default=-1,
        metavar="N",
        help="replicas of new topics (default: the broker's)",
    )


def run(args: argparse.Namespace) -> int:
    """Create what is absent, say what differs; exit 1 when something still differs at the end."""
    from collectors.contract.kafka import kafka_client
    from infra.topics import ALL_TOPICS, admin_client, apply, create, differences

    admin = admin_client(kafka_client())
    if not args.check:
        for name in create(admin, ALL_TOPICS, args.replication):
            print(f"created {name}")
    found = differences(admin, ALL_TOPICS)
    if found and args.apply:
        left = apply(admin, ALL_TOPICS)
        for difference in found:
            if difference not in left:
                print(f"altered {difference.topic}: {difference.what} {difference.is_} -> {difference.should}")
        found = left
    for d in found:
        hint = "" if d.can_apply else "; cannot be altered: make the topic anew"
        sys.stderr.write(f"{d.topic}: {d.what} is {d.is_}, the contract says {d.should}{hint}\n")
    if found:
        if not args.apply and not args.check:
            sys.stderr.write("nothing existing was altered; run again with --apply to alter it\n")
        return 1
    print(f"{len(ALL_TOPICS)} topics are as the contract says")
    return 0
