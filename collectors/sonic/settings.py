"""Login of a SONiC redis, from the environment: never from the command line, where every user sees it."""

import os
from dataclasses import dataclass
from functools import cache

from collectors.contract.settings import read_settings, setting


@dataclass(frozen=True)
class SonicSettings:
    """Settings of `lockstep collect sonic`."""

    username: str | None = setting("LOCKSTEP_SONIC_USERNAME", None, "user of a switch's redis, where it has users")
    password: str | None = setting(
        "LOCKSTEP_SONIC_PASSWORD", None, "password of a switch's redis; most have none", secret=True
    )

    @property
    def login(self) -> tuple[str, ...]:
        """What follows AUTH."""
        return tuple(part for part in (self.username, self.password) if part) if self.password else ()


@cache
def sonic_settings() -> SonicSettings:
    """The settings of this process."""
    return read_settings(SonicSettings, os.environ)
