"""What to read: URLs, files, and lists of targets in the form of Prometheus' file_sd."""

import json
import re
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from collectors.dcgm.http import Url, read_url
from collectors.source import SourceError
from collectors.whole_file import read_whole

MOST_BYTES = 64 << 20
PORT = 9400
"""Where dcgm-exporter listens."""


@dataclass(frozen=True, slots=True)
class Target:
    """One page. `node`: what to call it where the page does not say; None: not told."""

    name: str
    url: Url | None = None
    path: Path | None = None
    node: str | None = None

    def offset_s(self, interval_s: float) -> float:
        """When in an interval it is read: spread over targets, the same after a restart."""
        return zlib.crc32(self.name.encode()) / 2**32 * interval_s


def read_target(text: str, node: str | None = None, *, https: bool = False) -> Target:
    """`http[s]://HOST[:PORT][/PATH]`, `HOST[:PORT]` or a file. Raises `SourceError`.

    `https`: where no scheme is said.
    """
    if "://" not in text:
        path = Path(text)
        if path.exists() or "/" in text:
            if not path.is_file():
                raise SourceError(f"--target {text}: no such file")
            return Target(text, path=path, node=node)
        return read_target(f"http{'s' if https else ''}://{_host_port(text)}", node)
    try:
        url = read_url(text, PORT)
    except ValueError as why:
        raise SourceError(f"--target {text}: {why}") from why
    return Target(f"http{'s' if url.secure else ''}://{_host(url)}:{url.port}{url.path}", url, node=node)


def read_targets_file(path: Path, *, https: bool = False) -> list[Target]:
    """The targets of a file, as in `targets_of`. Raises `SourceError`."""
    try:
        text = read_whole(path, MOST_BYTES)[0].decode()
    except SourceError as why:
        raise SourceError(f"--targets {why}") from why
    except UnicodeDecodeError as why:
        raise SourceError(f"--targets {path}: {why}") from why
    return targets_of(text, path, https=https)


def targets_of(text: str, path: Path, *, https: bool = False) -> list[Target]:
    """file_sd in JSON or YAML: `[{"targets": ["host:port"], "labels": {...}}]`. Raises `SourceError` naming the entry.

    Of the labels, `__scheme__` and `__metrics_path__` are obeyed, and `node`, `Hostname` or `hostname` names the node.
    """
    groups = _parse(path, text)
    if not isinstance(groups, list):
        raise SourceError(f"--targets {path}: not a list of groups; write - targets: [host:port]")
    out: dict[str, Target] = {}
    for number, group in enumerate(groups, start=1):
        where = f"--targets {path}: group {number}"
        if not isinstance(group, dict) or not isinstance(group.get("targets"), list):
            raise SourceError(f"{where}: no list `targets` in it")
        labels = group.get("labels") or {}
        if not isinstance(labels, dict):
            raise SourceError(f"{where}: `labels` is not a mapping")
        for address in group["targets"]:
            if not isinstance(address, str):
                raise SourceError(f"{where}: {address!r} is not text of the form host:port")
            target = _discovered(address, {str(k): str(v) for k, v in labels.items()}, https, where)
            out[target.name] = target
    return list(out.values())


def _discovered(address: str, labels: dict[str, str], https: bool, where: str) -> Target:
    node = labels.get("node") or labels.get("Hostname") or labels.get("hostname")
    if "://" not in address:
        scheme = labels.get("__scheme__") or ("https" if https else "http")
        address = f"{scheme}://{_host_port(address)}{labels.get('__metrics_path__', '/metrics')}"
    try:
        return read_target(address, node)
    except SourceError as why:
        raise SourceError(f"{where}: {why}") from why


def _parse(path: Path, text: str) -> Any:
    if path.suffix in (".yml", ".yaml"):
        import yaml

        try:
            return yaml.safe_load(text) or []
        except yaml.YAMLError as why:
            raise SourceError(f"--targets {path}: not YAML: {str(why).splitlines()[0]}") from why
    try:
        return json.loads(text)
    except json.JSONDecodeError as why:
        raise SourceError(f"--targets {path}:{why.lineno}: not JSON: {why.msg}") from why


def _host_port(text: str) -> str:
    """With the exporter's port where none is said, whatever the scheme."""
    host, slash, path = text.partition("/")
    if not host or re.search(r":[^\]]*$", host):
        return text
    return f"{host}:{PORT}{slash}{path}"


def _host(url: Url) -> str:
    return f"[{url.host}]" if ":" in url.host else url.host
