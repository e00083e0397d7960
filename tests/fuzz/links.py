"""The cable map's forms."""

from collections.abc import Mapping

from collectors.links.forms import read_map
from collectors.source import SourceError
from tests.fuzz.parser import Parser

_SEEDS = {
    "csv": b"device,port,far_device,far_port,far_kind,node,gpu_index,rail\n"
    b"leaf1,Ethernet1,node-a,mlx5_0,nic,node-a,0;1,0\n",
    "jsonl": b'{"device":"leaf1","port":"Ethernet1","far_device":"node-a","far_kind":"nic","gpu_index":[0,1]}\n',
    "toml": b'[[link]]\ndevice = "leaf1"\nport = "Ethernet1"\nfar_device = "spine1"\nfar_kind = "switch"\n',
}


def _read(name: str, raw: bytes) -> Mapping[str, object]:
    try:
        return read_map(raw.decode("utf-8-sig"), f"cables.{name}", "default", 1)
    except (SourceError, UnicodeDecodeError):
        return {}


PARSERS = tuple(
    Parser(f"links-{name}", (seed,), lambda raw, name=name: _read(name, raw))  # type: ignore[misc]
    for name, seed in _SEEDS.items()
)
