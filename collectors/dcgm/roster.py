"""Which targets there are now: those that are named, those of a file, those that were discovered."""

import argparse
import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from collectors.dcgm.access import Stamp, stamp
from collectors.dcgm.aside import aside
from collectors.dcgm.targets import PORT, Target, read_target, read_targets_file
from collectors.defect import defect
from collectors.discovery.discovery import MOST, Discovery, Found
from collectors.source import SourceError

SOON_S = 10.0
"""Longest time until the next look after one that failed."""
ANSWER_S = 30.0
"""Longest wait for one; each bounds itself to less where its server does not trickle."""

Report = Callable[[str, float, str | None], None]
"""Called after each look with the name of the discovery or file, its seconds, and what went wrong."""


def discoveries(args: argparse.Namespace) -> list[Discovery]:
    """What the options ask for. Raises `SourceError`."""
    out: list[Discovery] = []
    if args.kubernetes:
        from collectors.discovery.kubernetes import KubernetesService

        out += [KubernetesService(text, args.kubeconfig) for text in args.kubernetes]
    if args.dns_srv:
        from collectors.discovery.dns_srv import DnsSrv

        out += [DnsSrv(text, args.dns_server) for text in args.dns_srv]
    if args.slurm_nodes:
        from collectors.discovery.slurm_nodes import slurm_nodes

        out += [slurm_nodes(text) for text in args.slurm_nodes]
    return out


class Roster:
    """The union of all; of two that name one page the one named by hand wins, then the file's."""

    def __init__(
        self, args: argparse.Namespace, asked: Sequence[Discovery], report: Report, answer_s: float = ANSWER_S
    ) -> None:
        """Raises `SourceError` for what is named wrong, and where nothing is."""
        self._args = args
        self._asked = asked
        self._report = report
        self._answer_s = answer_s
        self._found: dict[str, list[Target]] = {}
        self._asking: dict[str, asyncio.Future[list[Found]]] = {}
        self._named = [read_target(text, None, https=args.https) for text in args.target]
        self._file: Path | None = args.targets
        self._stamp = self._stamp_now()
        self._listed = read_targets_file(self._file, https=args.https) if self._file is not None else []
        if not self._named and self._file is None and not asked:
            raise SourceError(
                "no target: give --target URL or --targets FILE, or find them: --kubernetes, --dns-srv, --slurm-nodes"
            )

    def targets(self) -> dict[str, Target]:
        """By name."""
        found = [target for one in self._found.values() for target in one]
        return {target.name: target for target in (*found, *self._listed, *self._named)}

    def look(self) -> bool:
        """Whether the file changed; it is read again then. One that cannot be read leaves the list as it was."""
        fresh = self._stamp_now()
        if fresh == self._stamp or self._file is None:
            return False
        self._stamp = fresh
        began_s = time.perf_counter()
        try:
            self._listed = read_targets_file(self._file, https=self._args.https)
        except SourceError as why:
            self._report(str(self._file), time.perf_counter() - began_s, str(why))
            return False
        except Exception as why:  # noqa: BLE001 (the targets that are known are read on)
            self._report(str(self._file), time.perf_counter() - began_s, defect(f"dcgm:{self._file}", why))
            return False
        self._report(str(self._file), time.perf_counter() - began_s, None)
        return True

    async def ask(self, discovery: Discovery) -> bool:
        """One look of a discovery; False: it failed, and its last targets stay."""
        began_s = time.perf_counter()
        error: str | None = None
        try:
            self._found[discovery.name] = await self._answer(discovery)
        except SourceError as why:
            error = str(why)
        except Exception as why:  # noqa: BLE001 (the targets that are known are read on)
            error = defect(f"dcgm:{discovery.name}", why)
        self._report(discovery.name, time.perf_counter() - began_s, error)
        return error is None

    async def _answer(self, discovery: Discovery) -> list[Target]:
        """Of a look that has not come back no second one is begun."""
        asking = self._asking.pop(discovery.name, None) or aside(discovery.find, "discovery")
        done, _ = await asyncio.wait({asking}, timeout=self._answer_s)
        if not done:
            self._asking[discovery.name] = asking
            raise SourceError(f"no answer within {self._answer_s:g} s")
        found = asking.result()
        if len(found) > MOST:
            raise SourceError(f"more than {MOST} targets")
        return [self._target(one) for one in found]

    async def ask_all(self) -> None:
        """One look of each."""
        await asyncio.gather(*map(self.ask, self._asked))

    async def follow(self, changed: Callable[[], None]) -> None:
        """Look again and again until cancelled."""
        await asyncio.gather(*(self._follow(discovery, changed) for discovery in self._asked))

    async def _follow(self, discovery: Discovery, changed: Callable[[], None]) -> None:
        while True:
            well = await self.ask(discovery)
            if well:
                changed()
            again_s = self._args.find_every
            await asyncio.sleep(again_s if well else min(SOON_S, again_s))

    def _target(self, found: Found) -> Target:
        host = f"[{found.host}]" if ":" in found.host else found.host
        port = found.port or self._args.port or PORT
        return read_target(f"http{'s' if self._args.https else ''}://{host}:{port}", found.node)

    def _stamp_now(self) -> Stamp:
        return None if self._file is None else stamp(self._file)
