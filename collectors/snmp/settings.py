"""What opens an agent, from the environment: never from the command line, where every user sees it."""

import os
from dataclasses import dataclass
from functools import cache

from collectors.contract.settings import read_settings, setting


@dataclass(frozen=True)
class SnmpSettings:
    """Settings of `lockstep collect snmp`."""

    community: str | None = setting("LOCKSTEP_SNMP_COMMUNITY", None, "community of SNMP v2c", secret=True)
    auth_password: str | None = setting(
        "LOCKSTEP_SNMP_AUTH_PASSWORD", None, "authentication password of an SNMP v3 user", secret=True
    )
    priv_password: str | None = setting(
        "LOCKSTEP_SNMP_PRIV_PASSWORD", None, "privacy password of an SNMP v3 user", secret=True
    )


@cache
def snmp_settings() -> SnmpSettings:
    """The settings of this process."""
    return read_settings(SnmpSettings, os.environ)
