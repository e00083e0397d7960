"""Login of a UFM, from the environment: never from the command line, where every user sees it."""

import os
from dataclasses import dataclass
from functools import cache

from collectors.contract.settings import read_settings, setting


@dataclass(frozen=True)
class InfinibandSettings:
    """Settings of `lockstep collect infiniband`."""

    ufm_username: str | None = setting("LOCKSTEP_UFM_USERNAME", None, "login name on a UFM telemetry endpoint")
    ufm_password: str | None = setting("LOCKSTEP_UFM_PASSWORD", None, "password on a UFM endpoint", secret=True)


@cache
def infiniband_settings() -> InfinibandSettings:
    """The settings of this process."""
    return read_settings(InfinibandSettings, os.environ)
