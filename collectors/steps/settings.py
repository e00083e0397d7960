"""What the training client reads in a training job, for those who look for a setting.

The client itself reads these by `client_env`, which never fails: a training job must not end for a wrong word.
"""

import os
from dataclasses import dataclass
from functools import cache

from collectors.contract.settings import read_settings, setting
from collectors.steps.client import SOCKET


@dataclass(frozen=True)
class ClientSettings:
    """Settings of the training client; what is given to it in the program wins over them."""

    job: str | None = setting("LOCKSTEP_JOB", None, "the job's id; empty: SLURM_JOB_ID, then TORCHELASTIC_RUN_ID")
    attempt: str | None = setting(
        "LOCKSTEP_ATTEMPT",
        None,
        "which start of the job this is, from 0; empty: by the restart counts of Slurm and torchrun",
    )
    config_hash: str | None = setting(
        "LOCKSTEP_CONFIG_HASH",
        None,
        "hash of what the job runs with: under another one its steps are held against none before",
    )
    node: str | None = setting(
        "LOCKSTEP_NODE", None, "name of this node; empty: SLURMD_NODENAME, then NODE_NAME, then the host name"
    )
    socket: str = setting(
        "LOCKSTEP_STEPS_SOCKET",
        SOCKET,
        "socket of the node's `lockstep collect steps`; set to nothing: the client is off",
    )


@cache
def client_settings() -> ClientSettings:
    """The settings of this process."""
    return read_settings(ClientSettings, os.environ)
