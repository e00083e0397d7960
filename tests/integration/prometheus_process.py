"""Debian's Prometheus on a folder of its own, for tests."""

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from infra.kafka.process import free_port

BINARY = shutil.which("prometheus")
NEEDS_PROMETHEUS = pytest.mark.skipif(BINARY is None, reason="Prometheus is not installed: apt install prometheus")


@contextmanager
def prometheus(
    folder: Path,
    targets: Sequence[str],
    *,
    interval: str = "1s",
    remote_write: Sequence[dict[str, Any]] = (),
    labels: Mapping[str, str] | None = None,
) -> Iterator[str]:
    """Scrapes `targets` and gives them these labels; its URL."""
    assert BINARY is not None
    port = free_port()
    static = {"targets": list(targets), "labels": dict(labels or {})}
    config = {
        "global": {"scrape_interval": interval, "scrape_timeout": interval},
        "scrape_configs": [{"job_name": "dcgm", "static_configs": [static]}],
        "remote_write": list(remote_write),
    }
    folder.mkdir(exist_ok=True)
    (folder / "prometheus.yml").write_text(json.dumps(config))
    command = [BINARY, f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/tsdb"]
    command += [f"--web.listen-address=127.0.0.1:{port}", "--storage.remote.flush-deadline=1s"]
    with (folder / "log").open("a") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()
