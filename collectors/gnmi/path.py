"""gNMI paths: wire bytes and text -> elements with keys."""

import re
from dataclasses import dataclass, field
from functools import lru_cache

from collectors.gnmi import wire

_ELEMENT = re.compile(r"(?P<name>(?:\\.|[^\[/])+)(?P<keys>(?:\[[^=\]]+=(?:\\.|[^\]])*\])*)")
_MODULE = re.compile(r"[a-z][a-z0-9_.-]*")
_KEY = re.compile(r"\[([^=\]]+)=((?:\\.|[^\]])*)\]")


@dataclass(frozen=True, slots=True)
class Elem:
    """One step of a path. Keys are sorted: maps have no order on the wire."""

    name: str
    keys: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class GnmiPath:
    """A path with what its prefix told."""

    elems: tuple[Elem, ...] = ()
    origin: str = ""
    target: str = ""

    def __add__(self, tail: "GnmiPath") -> "GnmiPath":
        return GnmiPath(self.elems + tail.elems, tail.origin or self.origin, tail.target or self.target)

    def names(self) -> str:
        """`/interfaces/interface/state`: the elements without their keys."""
        return "/" + "/".join(elem.name for elem in self.elems)

    def __str__(self) -> str:
        return "/" + "/".join(
            elem.name + "".join(f"[{key}={value}]" for key, value in elem.keys) for elem in self.elems
        )


@dataclass(frozen=True, slots=True)
class PathSyntax(ValueError):
    """Text that is no path."""

    text: str
    why: str = field(default="")

    def __str__(self) -> str:
        return f"{self.text!r} is no gNMI path: {self.why}"


def read_path(raw: bytes) -> GnmiPath:
    """Wire bytes of a Path, also of the deprecated `element` form. Raises `wire.DecodeError`."""
    path = wire.Path.FromString(raw)
    if path.elem:
        elems = tuple(
            elem(_text(e.name), {_text(k.key): _text(k.value) for k in e.key} if e.key else None) for e in path.elem
        )
    else:
        elems = tuple(e for text in path.element for e in _old_element(_text(text)))
    return GnmiPath(elems, _text(path.origin), _text(path.target))


def elem(name: str, keys: dict[str, str] | None = None) -> Elem:
    """Module prefixes (`openconfig-platform:components`) are cut from the name and the key names."""
    if not keys:
        return _keyless(name)
    return Elem(_bare(name), tuple(sorted((_bare(key), value) for key, value in keys.items())))


@lru_cache(maxsize=4096)
def _keyless(name: str) -> Elem:
    return Elem(_bare(name))


def parse_path(text: str) -> GnmiPath:
    """`[origin:]/a/b[k=v]/c`, as in a preset or a gnmic file. Raises `PathSyntax`."""
    origin, rest = "", text.strip()
    if found := re.match(r"([A-Za-z0-9_-]+):(?=/)", rest):
        origin, rest = found[1], rest[found.end() :]
    rest = rest.removeprefix("/")
    elems: list[Elem] = []
    while rest:
        found = _ELEMENT.match(rest)
        if found is None:
            raise PathSyntax(text, f"cannot read it from {rest[:40]!r}")
        keys = {k: re.sub(r"\\(.)", r"\1", v) for k, v in _KEY.findall(found["keys"])}
        elems.append(elem(found["name"], keys))
        rest = rest[found.end() :]
        if rest and not rest.startswith("/"):
            raise PathSyntax(text, f"expected / at {rest[:40]!r}")
        rest = rest[1:]
    return GnmiPath(tuple(elems), origin)


def write_path(path: GnmiPath) -> bytes:
    """Wire bytes, as a device would send them."""
    out = wire.Path(origin=path.origin.encode(), target=path.target.encode())
    for e in path.elems:
        step = out.elem.add(name=e.name.encode())
        for key, value in e.keys:
            step.key.add(key=key.encode(), value=value.encode())
    return bytes(out.SerializeToString())


def _old_element(text: str) -> tuple[Elem, ...]:
    try:
        return parse_path(text).elems or (elem(text),)
    except PathSyntax:
        return (elem(text),)


def _bare(name: str) -> str:
    if ":" not in name:
        return name
    head, _, tail = name.partition(":")
    return tail if tail and head != "oid" and _MODULE.fullmatch(head) else name


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
