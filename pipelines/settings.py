"""Settings of the rollups and reports."""

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from collectors.contract.settings import read_settings, setting


@dataclass(frozen=True)
class PipelineSettings:
    """Where Dagster and the reports keep things, and how far back partitions go."""

    state: str = setting("LOCKSTEP_STATE", ".lockstep", "folder of everything that Lockstep keeps on this machine")
    first_day: str = setting("LOCKSTEP_FIRST_DAY", "2026-01-01", "first UTC day that has partitions, YYYY-MM-DD")
    reports: str | None = setting(
        "LOCKSTEP_REPORTS", None, "folder of the daily reports; empty: reports/ in the state folder"
    )

    @property
    def reports_folder(self) -> Path:
        """Where reports are written."""
        return Path(self.reports) if self.reports else Path(self.state) / "reports"


@cache
def pipeline_settings() -> PipelineSettings:
    """The settings of this process. Raises `SettingError`."""
    return read_settings(PipelineSettings, os.environ)
