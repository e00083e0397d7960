"""What all targets of a process share."""

from dataclasses import dataclass, field

from collectors.dcgm.access import Access
from collectors.dcgm.names import Names
from collectors.dcgm.response import Buffers


@dataclass(frozen=True, slots=True)
class Shared:
    """Login and TLS, buffers, and lookups of names."""

    access: Access
    buffers: Buffers = field(default_factory=Buffers)
    names: Names = field(default_factory=Names)
