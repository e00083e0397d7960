"""Login of switches, from the environment: never from the command line, where every user sees it."""

import os
from dataclasses import dataclass
from functools import cache

from collectors.contract.settings import read_settings, setting


@dataclass(frozen=True)
class GnmiSettings:
    """Settings of `lockstep collect gnmi`."""

    username: str | None = setting("LOCKSTEP_GNMI_USERNAME", None, "login name on switches")
    password: str | None = setting("LOCKSTEP_GNMI_PASSWORD", None, "password on switches", secret=True)


@cache
def gnmi_settings() -> GnmiSettings:
    """The settings of this process."""
    return read_settings(GnmiSettings, os.environ)
