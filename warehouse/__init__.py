"""The warehouse: tables, loader, and `connect()` for every reader."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warehouse.opening import connect
    from warehouse.transaction import transact

__all__ = ["connect", "transact"]


def __getattr__(name: str) -> object:
    """The public face, loaded when first asked for: `lockstep --help` must not load DuckDB."""
    if name == "connect":
        from warehouse.opening import connect

        return connect
    if name == "transact":
        from warehouse.transaction import transact

        return transact
    raise AttributeError(name)
