"""The parts of a node that the driver's lines are about, and the names of their open episodes."""

from collectors.contract.kernel import KernelEvent
from streams.detectors.xid_findings import subject_of
from streams.detectors.xid_state import Group, XidState

PROGRAM, RECORD = " program", " record"
"""Ends of the names of minor episodes: what programs did, and what is only written down."""


def base_of(name: str) -> str:
    """The part that an episode is of."""
    return name.removesuffix(PROGRAM).removesuffix(RECORD)


def groups_of(state: XidState, part: str) -> list[tuple[str, Group]]:
    """The open episodes of a part."""
    names = (part, part + PROGRAM, part + RECORD)
    return [(name, state.kept.groups[name]) for name in names if name in state.kept.groups]


def part_of(state: XidState, event: KernelEvent) -> str:
    """What an event's episodes are kept under: the address, which stays when the GPU is lost, else the UUID.

    A line that names a GPU otherwise than the open episode's lines did is still about that GPU.
    """
    if event.kind == "sxid":
        return f"switch {event.pci or event.device}"
    own = event.pci or state.pci_of(event.gpu_uuid) or event.gpu_uuid or "node"
    subject = subject_of(state, event).id
    for name, opening in state.kept.episodes.open.items():
        if opening.subject.id == subject:
            return base_of(name)
    return own
