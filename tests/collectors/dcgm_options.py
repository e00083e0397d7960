"""Options of the source `dcgm`, as its command line gives them."""

import argparse

from collectors.dcgm import source


def options(*words: str, interval: float = 0.1) -> argparse.Namespace:
    """Parsed, with those that every source has."""
    parser = argparse.ArgumentParser()
    source.add_arguments(parser)
    return parser.parse_args(words, argparse.Namespace(interval=interval, node=None, instance=None))
