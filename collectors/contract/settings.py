"""Settings: `LOCKSTEP_*` environment variables, read once per process into a room's frozen dataclass."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from collectors.contract.errors import UserError

T = TypeVar("T")


class SettingError(UserError):
    """A setting that cannot be used; the text names the variable, its value and what it should be."""


_PASSWORD = re.compile(r"(password\s*=\s*)('[^']*'|\S+)|(://[^:/@\s]*:)[^@/\s]+(?=@)", re.IGNORECASE)


def setting(env: str, default: Any, meaning: str, *, secret: bool = False) -> Any:
    """A dataclass field that is read from `env`. The annotated type must be str, int, float, bool or str | None.

    Of a `secret` one it is only shown whether it is set.
    """
    return field(default=default, metadata={"env": env, "meaning": meaning, "secret": secret})


@dataclass(frozen=True, slots=True)
class Listed:
    """One setting as `lockstep settings` shows it."""

    env: str
    value: str
    default: str
    meaning: str


def read_settings(cls: type[T], env: Mapping[str, str]) -> T:
    """Build `cls` from the environment. Raises `SettingError`."""
    values: dict[str, Any] = {}
    for f in fields(cls):  # type: ignore[arg-type]
        raw = env.get(f.metadata["env"])
        if raw is None or raw == "":
            continue
        values[f.name] = _convert(f.metadata["env"], raw, f.type)
    return cls(**values)


def list_settings(settings: Any) -> list[Listed]:
    """Every setting of a room with its value, default and meaning; passwords are not shown."""
    return [
        Listed(f.metadata["env"], _shown(f, getattr(settings, f.name)), _show(f.default), f.metadata["meaning"])
        for f in fields(settings)
    ]


def _convert(env: str, raw: str, kind: Any) -> Any:
    if kind is bool:
        if raw.lower() in ("1", "true", "yes", "on"):
            return True
        if raw.lower() in ("0", "false", "no", "off"):
            return False
        raise SettingError(f"{env}={raw!r}: write 1 or 0")
    if kind is int or kind is float:
        try:
            return kind(raw)
        except ValueError as why:
            raise SettingError(f"{env}={raw!r}: write a {'whole ' if kind is int else ''}number") from why
    return raw


def _shown(field: Any, value: Any) -> str:
    if field.metadata["secret"] and value is not None:
        return "(set, not shown)"
    return _PASSWORD.sub(lambda found: f"{found[1] or found[3]}***", _show(value))


def _show(value: Any) -> str:
    return "" if value is None else str(value)
