"""How every room reaches Kafka: one address and one properties file in librdkafka's names."""

import os
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from collectors.contract.settings import SettingError, read_settings, setting


@dataclass(frozen=True)
class KafkaSettings:
    """Where Kafka is. Without an address the local one of `lockstep kafka start` is found by its state file."""

    bootstrap: str | None = setting(
        "LOCKSTEP_KAFKA", None, "Kafka bootstrap servers, host:port[,host:port]; empty: the local Kafka"
    )
    config: str | None = setting(
        "LOCKSTEP_KAFKA_CONFIG", None, "properties file in librdkafka's names (SASL, TLS) for every client"
    )
    state: str = setting("LOCKSTEP_STATE", ".lockstep", "folder of everything that Lockstep keeps on this machine")
    cluster: str = setting("LOCKSTEP_CLUSTER", "default", "name of this GPU cluster; part of every key")


@cache
def kafka_settings() -> KafkaSettings:
    """The settings of this process. Raises `SettingError`."""
    return read_settings(KafkaSettings, os.environ)


@dataclass(frozen=True)
class KafkaClient:
    """What a client needs: `bootstrap` and librdkafka properties (without `bootstrap.servers`)."""

    bootstrap: str
    properties: dict[str, str] = field(default_factory=dict)

    def librdkafka(self) -> dict[str, str]:
        """The configuration common to confluent-kafka producers, consumers and admin clients."""
        return {"bootstrap.servers": self.bootstrap, **self.properties}


def kafka_client(settings: KafkaSettings | None = None) -> KafkaClient:
    """Raises `SettingError` that says what to do when there is no Kafka to reach."""
    settings = settings or kafka_settings()
    properties = read_properties(Path(settings.config)) if settings.config else {}
    written = properties.pop("bootstrap.servers", None)
    return KafkaClient(settings.bootstrap or written or _local(Path(settings.state)), properties)


def read_properties(path: Path) -> dict[str, str]:
    """`name=value` lines, `#` and `!` comments. Raises `SettingError` naming the line."""
    try:
        text = path.read_text()
    except OSError as why:
        raise SettingError(f"LOCKSTEP_KAFKA_CONFIG={path}: {why.strerror}") from why
    out: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.strip()
        if not line or line[0] in "#!":
            continue
        name, sep, value = line.partition("=")
        if not sep:
            raise SettingError(f"{path}:{number}: not name=value: {line!r}")
        out[name.strip()] = value.strip()
    return out


def _local(state: Path) -> str:
    try:
        return (state / "kafka" / "address").read_text().strip()
    except OSError:
        raise SettingError(
            "no Kafka: run `lockstep kafka start` for a local one, or set LOCKSTEP_KAFKA=host:port"
        ) from None
