"""Where the warehouse is."""

import os
from dataclasses import dataclass
from functools import cache

from collectors.contract.settings import read_settings, setting


@dataclass(frozen=True)
class WarehouseSettings:
    """The catalog, the data files and what a connection may use."""

    state: str = setting("LOCKSTEP_STATE", ".lockstep", "folder of everything that Lockstep keeps on this machine")
    catalog: str | None = setting(
        "LOCKSTEP_WAREHOUSE",
        None,
        "catalog of the warehouse: a SQLite file, or postgres:DSN; empty: warehouse/catalog.sqlite in the state folder",
    )
    data: str | None = setting(
        "LOCKSTEP_WAREHOUSE_DATA",
        None,
        "data files of the warehouse: a folder or s3://bucket/prefix; empty: warehouse/data in the state folder",
    )
    threads: int = setting("LOCKSTEP_WAREHOUSE_THREADS", 0, "threads of a connection; 0: one a core")
    memory: str | None = setting(
        "LOCKSTEP_WAREHOUSE_MEMORY", None, "most memory of a connection, such as 4GB; empty: 80% of the machine"
    )
    retention_h: float = setting(
        "LOCKSTEP_WAREHOUSE_SNAPSHOTS_H",
        0.5,
        "hours for which snapshots and files that were replaced stay: no query may take longer",
    )


@dataclass(frozen=True)
class S3Settings:
    """The ordinary AWS variables. They hold secrets, so `lockstep settings` does not list them."""

    key: str | None = setting("AWS_ACCESS_KEY_ID", None, "S3 key")
    secret: str | None = setting("AWS_SECRET_ACCESS_KEY", None, "S3 secret")
    token: str | None = setting("AWS_SESSION_TOKEN", None, "S3 session token")
    region: str | None = setting("AWS_REGION", None, "S3 region")
    endpoint: str | None = setting("AWS_ENDPOINT_URL", None, "address of an S3-compatible store, http(s)://host:port")


@cache
def warehouse_settings() -> WarehouseSettings:
    """The settings of this process. Raises `SettingError`."""
    return read_settings(WarehouseSettings, os.environ)


def s3_settings() -> S3Settings:
    """What reaches `s3://` data."""
    return read_settings(S3Settings, os.environ)
