"""Settings of this room, and of every room for `lockstep settings`."""

import importlib
import os
from dataclasses import dataclass
from functools import cache

from collectors.contract.kafka import kafka_settings
from collectors.contract.settings import Listed, list_settings, read_settings, setting


@dataclass(frozen=True)
class InfraSettings:
    """How things are run on this machine."""

    jars: str | None = setting(
        "LOCKSTEP_JARS", None, "folder of the local Kafka's jars; empty: .lockstep/jars of the checkout"
    )


@cache
def infra_settings() -> InfraSettings:
    """The settings of this process. Raises `SettingError`."""
    return read_settings(InfraSettings, os.environ)


# Room -> (module, function that reads its settings of this process).
ROOMS = {
    "collectors": ("collectors.settings", "collector_settings"),
    "collectors, gnmi": ("collectors.gnmi.settings", "gnmi_settings"),
    "collectors, snmp": ("collectors.snmp.settings", "snmp_settings"),
    "collectors, infiniband": ("collectors.infiniband.settings", "infiniband_settings"),
    "collectors, sonic": ("collectors.sonic.settings", "sonic_settings"),
    "training client": ("collectors.steps.settings", "client_settings"),
    "streams": ("streams.settings", "stream_settings"),
    "warehouse": ("warehouse.settings", "warehouse_settings"),
    "pipelines": ("pipelines.settings", "pipeline_settings"),
    "infra": ("infra.settings", "infra_settings"),
}


def all_settings() -> list[tuple[str, Listed]]:
    """(room, setting) for every setting of the product; settings common to all rooms first, and only there."""
    common = list_settings(kafka_settings())
    rows = [("all rooms", listed) for listed in common]
    for room, (module, name) in ROOMS.items():
        settings = getattr(importlib.import_module(module), name)()
        rows += [(room, listed) for listed in list_settings(settings) if listed.env not in {c.env for c in common}]
    return rows


def table(rows: list[tuple[str, Listed]]) -> str:
    """The settings without their values as a Markdown table a room, for `docs/settings.md`."""
    out = []
    for room in dict.fromkeys(room for room, _ in rows):
        out += [f"## {room[0].upper()}{room[1:]}", "", "| setting | default | meaning |", "|---|---|---|"]
        out += [
            f"| `{listed.env}` | {f'`{listed.default}`' if listed.default else ''} | {listed.meaning} |"
            for of, listed in rows
            if of == room
        ]
        out.append("")
    return "\n".join(out)
