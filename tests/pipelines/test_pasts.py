"""The asset that tells the detectors of the GPUs' past."""

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from collectors.contract.kafka import kafka_settings
from pipelines.pasts import memory_pasts
from warehouse.settings import warehouse_settings


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """No warehouse, and an address where no Kafka is."""
    monkeypatch.setenv("LOCKSTEP_STATE", str(tmp_path))
    monkeypatch.setenv("LOCKSTEP_KAFKA", "127.0.0.1:1")
    for settings in (warehouse_settings, kafka_settings):
        settings.cache_clear()
    yield tmp_path
    for settings in (warehouse_settings, kafka_settings):
        settings.cache_clear()


def test_without_a_warehouse_it_fails_with_one_line_and_is_not_tried_again(nowhere: Path) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        done = dg.materialize([memory_pasts], instance=instance, raise_on_error=False)
        assert not done.success
        events = instance.all_logs(done.run_id)
    said = [
        e.dagster_event.step_failure_data.user_failure_data
        for e in events
        if e.is_dagster_event and e.dagster_event and e.dagster_event.is_step_failure
    ]
    assert [data.description for data in said if data is not None] == [
        f"no warehouse at {nowhere}/warehouse/catalog.sqlite: `lockstep load` makes it, "
        "or set LOCKSTEP_WAREHOUSE to another"
    ]
    assert dg.DagsterEventType.STEP_UP_FOR_RETRY not in {e.dagster_event_type for e in events}
