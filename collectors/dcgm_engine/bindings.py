"""DCGM's own Python modules, which come with its package and not from an index."""

import importlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from collectors.gpu.reading import GpuTrouble

FOLDERS = (
    Path("/usr/share/datacenter-gpu-manager-4/bindings/python3"),
    Path("/usr/local/dcgm/bindings/python3"),
    Path("/usr/local/dcgm/bindings"),
)
"""Where packages of DCGM 4, 3 and 2 put them (the verify_package_contents lists; NVIDIA/DCGM #37)."""
MODULES = ("pydcgm", "dcgm_agent", "dcgm_structs", "dcgm_fields")
ADVICE = (
    "install DCGM on this host (the package datacenter-gpu-manager-4-core, or datacenter-gpu-manager of DCGM 3), or "
    "name the folder that holds pydcgm.py with --bindings"
)


@dataclass(frozen=True, slots=True)
class Bindings:
    """The modules. Their calls are those of the C interface; they raise `structs.DCGMError`, which has a `value`."""

    pydcgm: Any
    agent: Any
    structs: Any
    fields: Any


def load_bindings(named: Path | None, folders: Sequence[Path] = FOLDERS) -> Bindings:
    """From the folder that was named, else from where packages put them. Raises `GpuTrouble`."""
    if named is not None and not (named / "pydcgm.py").is_file():
        raise GpuTrouble(f"--bindings {named}: no pydcgm.py in it; {ADVICE}")
    found = [named] if named is not None else [folder for folder in folders if (folder / "pydcgm.py").is_file()]
    if not found:
        raise GpuTrouble(f"DCGM's Python bindings are not in {', '.join(map(str, folders))}; {ADVICE}")
    folder = str(found[0])
    if folder not in sys.path:
        # At the end: the folder also has modules of common names.
        sys.path.append(folder)
    try:
        return Bindings(*(importlib.import_module(name) for name in MODULES))
    except (ImportError, SyntaxError, AttributeError) as why:
        raise GpuTrouble(f"{folder}: DCGM's bindings cannot be loaded: {why}") from why
