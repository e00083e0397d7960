"""Where one warehouse stands: its catalog, its data, its lock."""

from dataclasses import dataclass
from pathlib import Path

from collectors.contract.settings import SettingError
from warehouse.settings import WarehouseSettings

POSTGRES = "postgres:"


@dataclass(frozen=True, slots=True)
class Place:
    """`catalog` as DuckLake names it (`sqlite:PATH`, `postgres:DSN`); `data` ends in a slash."""

    catalog: str
    data: str

    @property
    def sqlite(self) -> Path | None:
        """The catalog's file; None for PostgreSQL."""
        return None if self.postgres is not None else Path(self.catalog.removeprefix("sqlite:"))

    @property
    def postgres(self) -> str | None:
        """The catalog's DSN; None for SQLite."""
        return self.catalog.removeprefix(POSTGRES) if self.catalog.startswith(POSTGRES) else None

    @property
    def folder(self) -> Path | None:
        """The data's folder; None when it is elsewhere than on this machine."""
        return None if "://" in self.data else Path(self.data)


def place_of(settings: WarehouseSettings) -> Place:
    """Raises `SettingError` for a catalog that is neither a SQLite file nor PostgreSQL."""
    home = Path(settings.state) / "warehouse"
    catalog = settings.catalog or f"sqlite:{(home / 'catalog.sqlite').absolute()}"
    if catalog.startswith(("postgresql://", "postgres://")):
        catalog = POSTGRES + catalog
    elif not catalog.startswith(POSTGRES):
        if "://" in catalog or catalog.partition(":")[0] in ("mysql", "duckdb"):
            raise SettingError(f"LOCKSTEP_WAREHOUSE={catalog!r}: name a SQLite file, or PostgreSQL as postgres:DSN")
        catalog = f"sqlite:{Path(catalog.removeprefix('sqlite:')).absolute()}"
    data = settings.data or str(home / "data")
    if "://" not in data:
        data = str(Path(data).absolute())
    return Place(catalog, data.rstrip("/") + "/")
