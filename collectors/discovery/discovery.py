"""What a discovery is: something that can be asked again and again where exporters listen."""

from dataclasses import dataclass
from typing import Protocol

MOST = 50_000
"""Places that one discovery may name; more are a mistake in what was asked for, and an error."""


@dataclass(frozen=True, slots=True)
class Found:
    """One place. `port` None: the source's usual one; `node` None: the place does not say whose it is."""

    host: str
    port: int | None = None
    node: str | None = None


class Discovery(Protocol):
    """One question, such as the endpoints of a service."""

    @property
    def name(self) -> str:
        """What beats call it: `kubernetes:monitoring/dcgm-exporter`."""

    def find(self) -> list[Found]:
        """Ask; blocks for some 10 s at most.

        Raises `SourceError` that says what to do, also where nothing is found: a list that came back empty must
        not end the watch over a fleet.
        """
