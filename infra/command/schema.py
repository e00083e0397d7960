"""`lockstep schema TOPIC`."""

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The topic."""
    parser.add_argument("topic", nargs="?", help="a topic's name; without one, the topics are listed")


def run(args: argparse.Namespace) -> int:
    """Print the JSON Schema of the topic's messages."""
    import json

    import msgspec

    from collectors.contract.errors import UserError
    from infra.topics import ALL_TOPICS, BY_NAME

    if args.topic is None:
        for topic in ALL_TOPICS:
            keep = "compacted" if topic.compacted else f"{topic.retention_ms // 86_400_000} days"
            print(f"{topic.name:22} {topic.type.__name__:17} {topic.partitions} partitions, {keep}")
        return 0
    if args.topic not in BY_NAME:
        raise UserError(f"no topic {args.topic!r}; there are {', '.join(BY_NAME)}")
    print(json.dumps(msgspec.json.schema(BY_NAME[args.topic].type), indent=2))
    return 0
