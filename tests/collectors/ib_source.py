"""The source `infiniband` with its options, into a list."""

import argparse

from collectors.infiniband import source
from collectors.sources import add_common
from tests.collectors.list_outlet import ListOutlet


def parsed(*words: str) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(conflict_handler="resolve")
    add_common(parser)
    source.add_arguments(parser)
    return parser.parse_args(["--node", "n1", *words])


def once(*words: str) -> ListOutlet:
    """What `--once` publishes."""
    outlet = ListOutlet()
    source.once(parsed(*words), outlet)
    return outlet
