"""What tests of every room share."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from infra.kafka.local import Broker, running_kafka

# A change is judged by the same examples each time; at a desk they are new ones.
settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """One real Kafka for all tests that do not stop it; each test makes topics of its own."""
    with running_kafka(tmp_path_factory.mktemp("kafka")) as broker:
        yield broker


@pytest.fixture(scope="session")
def captures() -> Path:
    """Bytes recorded on real machines; they stand beside the repository and may be absent."""
    folder = Path(__file__).parents[2] / "shared" / "captures"
    if not folder.is_dir():
        pytest.skip(f"no captures at {folder}")
    return folder
