"""The jobs to ask, and where each can be asked."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from collectors.nccl_ras.client import PORT, Address
from collectors.source import SourceError

_ADDRESS = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<host>[^\s:\[\]=,]+))(?::(?P<port>[0-9]{1,5}))?")


@dataclass(frozen=True, slots=True)
class Target:
    """One job: any of its processes knows all of it, so the first that answers is enough."""

    job: str
    addresses: tuple[Address, ...]

    @property
    def name(self) -> str:
        """As beats and checks call it."""
        return ",".join(map(str, self.addresses))


def targets(given: Sequence[str], job: str | None) -> list[Target]:
    """`[JOB=]HOST[:PORT][,HOST[:PORT]...]`, each. Raises `SourceError`.

    Without a job its first address stands for it.
    """
    found = [_target(text, job) for text in given]
    names = [target.name for target in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise SourceError(f"--address {twice[0]} is given twice")
    return found


def _target(text: str, job: str | None) -> Target:
    name, equals, hosts = text.rpartition("=")
    addresses = tuple(_address(part.strip(), text) for part in hosts.split(","))
    if equals and not name:
        raise SourceError(f"--address {text}: no job before the =")
    return Target(name or job or str(addresses[0]), addresses)


def _address(part: str, text: str) -> Address:
    found = _ADDRESS.fullmatch(part)
    port = int(found["port"] or PORT) if found else 0
    if found is None or not 0 < port < 1 << 16:
        raise SourceError(f"--address {text}: write [JOB=]HOST[:PORT], an IPv6 address in brackets")
    return Address(found["six"] or found["host"], port)
