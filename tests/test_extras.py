"""Each room imports with only its own extra's packages importable."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import Distribution, distributions, packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRA = {"collectors": "collect", "streams": "stream", "warehouse": "warehouse", "pipelines": "pipelines"}

# Imports every module of a room where no package outside the allowed ones is to be found.
PROBE = """
import importlib, pkgutil, sys
from importlib.machinery import PathFinder
hidden = set(sys.argv[2].split(","))
class Some(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.split(".")[0] in hidden else PathFinder.find_spec(name, path, target)
sys.meta_path = [Some if finder is PathFinder else finder for finder in sys.meta_path]
room = importlib.import_module(sys.argv[1])
for info in pkgutil.walk_packages(room.__path__, room.__name__ + "."):
    importlib.import_module(info.name)
"""


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def allowed(extra: str) -> set[str]:
    """Names of the distributions that the extra brings, directly or not."""
    installed: dict[str, Distribution] = {normal(d.metadata["Name"]): d for d in distributions()}
    seen: set[str] = set()
    waiting = list(PROJECT["optional-dependencies"][extra])
    while waiting:
        requirement = waiting.pop()
        name, inner = re.match(r"([A-Za-z0-9._-]+)(?:\[([^\]]*)\])?", requirement).groups()  # type: ignore[union-attr]
        name = normal(name)
        if name == "lockstep-telemetry":
            waiting += PROJECT["optional-dependencies"][inner]
            continue
        if name in seen or name not in installed:
            continue
        seen.add(name)
        wanted_extras = set((inner or "").split(",")) - {""}
        for needed in installed[name].requires or []:
            marker = needed.partition(";")[2]
            if "extra ==" not in marker or any(f'"{e}"' in marker or f"'{e}'" in marker for e in wanted_extras):
                waiting.append(needed.partition(";")[0])
    return seen


@pytest.mark.parametrize("room", EXTRA)
def test_a_room_needs_only_its_own_extra(room: str) -> None:
    may = allowed(EXTRA[room])
    hidden = {
        package
        for package, owners in packages_distributions().items()
        if not any(normal(owner) in may | {"lockstep-telemetry"} for owner in owners) and package not in EXTRA
    }
    hidden -= {"infra", "tests", "collectors", "streams", "warehouse", "pipelines"}
    done = subprocess.run(
        [sys.executable, "-c", PROBE, room, ",".join(sorted(hidden))],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-1500:]


def test_the_step_client_needs_the_standard_library_alone() -> None:
    probe = "import sys; import collectors.steps.client; print(*sorted({m.split('.')[0] for m in sys.modules}))"
    done = subprocess.run(
        [sys.executable, "-S", "-c", probe], capture_output=True, text=True, cwd=ROOT, check=True, env={}
    )
    assert (
        set(done.stdout.split()) - set(sys.stdlib_module_names) - {"__main__", "collectors", "sitecustomize"} == set()
    )
