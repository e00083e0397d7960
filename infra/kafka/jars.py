"""Kafka's jars: fetched as the committed jgo lock says, and verified by SHA-256."""

import hashlib
import shutil
import tomllib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from collectors.contract.errors import UserError

LOCK = Path(__file__).with_name("jgo.lock.toml")


@dataclass(frozen=True, slots=True)
class Jar:
    """One locked Maven artifact."""

    group: str
    artifact: str
    version: str
    classifier: str
    sha256: str

    @property
    def filename(self) -> str:
        """`artifact-version[-classifier].jar`."""
        return "-".join(filter(None, (self.artifact, self.version, self.classifier))) + ".jar"


def locked(lock: Path = LOCK) -> list[Jar]:
    """The jars of the lock file."""
    return [
        Jar(d["groupId"], d["artifactId"], d["version"], d.get("classifier") or "", d["sha256"])
        for d in tomllib.loads(lock.read_text())["dependencies"]
    ]


def class_path(folder: Path, jars: list[Jar] | None = None) -> str:
    """The Java class path of the jars in `folder`. Raises `UserError` when they are not all there."""
    jars = jars or locked()
    absent = [jar.filename for jar in jars if not (folder / jar.filename).is_file()]
    if absent:
        raise UserError(f"Kafka's jars are not in {folder} ({len(absent)} of {len(jars)} absent): run `make setup`")
    return ":".join(str((folder / jar.filename).resolve()) for jar in jars)


def fetch(folder: Path, told: Callable[[int, int], None] = lambda done, of: None) -> int:
    """Bring every locked jar into `folder`; returns how many had to be fetched. No network when all are there.

    Raises `UserError` naming a jar that could not be fetched or whose checksum is not the locked one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    wanted = [jar for jar in locked() if not _is_good(folder / jar.filename, jar)]
    with ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(_fetch_one, folder, jar) for jar in wanted]
        for done, future in enumerate(as_completed(futures), start=1):
            future.result()
            told(done, len(wanted))
    return len(wanted)


def _is_good(path: Path, jar: Jar) -> bool:
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == jar.sha256


def _fetch_one(folder: Path, jar: Jar) -> None:
    import requests
    from jgo.maven import MavenContext

    name = f"{jar.group}:{jar.artifact}:{jar.version}"
    context = MavenContext(timeout=60)
    try:
        artifact = context.project(jar.group, jar.artifact).at_version(jar.version).artifact(jar.classifier, "jar")
        found = artifact.resolve()
    except (requests.RequestException, OSError, RuntimeError, ValueError) as why:
        raise UserError(f"{name} could not be fetched: {why}") from why
    if not _is_good(found, jar):
        found.unlink()
        raise UserError(f"{name}: checksum differs from infra/kafka/jgo.lock.toml; fetched copy removed, try again")
    part = folder / (jar.filename + ".part")
    shutil.copyfile(found, part)
    part.replace(folder / jar.filename)
