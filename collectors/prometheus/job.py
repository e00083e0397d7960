"""One import as a process: its login, its cursor, its beats."""

import argparse
import socket
import time
import zlib
from pathlib import Path

import aiohttp
import msgspec

from collectors.contract.beat import Beat
from collectors.contract.kafka import kafka_settings
from collectors.cursor import CursorFile
from collectors.dcgm.access import Access
from collectors.defect import defect
from collectors.prometheus.api import Api, Busy, Http, TooMuch
from collectors.prometheus.bar import Bar
from collectors.prometheus.history import History
from collectors.prometheus.importer import Importer, Tally
from collectors.prometheus.plan import Asked, Plan, Progress
from collectors.prometheus.selector import matchers
from collectors.prometheus.survey import survey
from collectors.prometheus.times import read_time
from collectors.remote_write.target import Out
from collectors.source import Outlet, SourceError

SOURCE = "prometheus"


def asked_of(args: argparse.Namespace) -> Asked:
    """What the options say. Raises `SourceError`."""
    return Asked(
        url=args.url.rstrip("/"),
        from_=args.from_,
        to=args.to,
        step="" if args.step is None else f"{args.step:g}",
        match=tuple(matchers(match) for match in args.match),
    )


async def run(args: argparse.Namespace, outlet: Outlet, *, keep: bool) -> int:
    """Import; the number of messages. `keep`: into Kafka, going on where the same import was interrupted.

    Raises `SourceError`.
    """
    beats = _Beats(outlet, args, asked_of(args))
    try:
        return await _import(args, outlet, beats, keep=keep)
    except SourceError as why:
        beats.fail(str(why))
        raise
    except Exception as why:
        said = defect(f"{SOURCE}:{args.url}", why)
        beats.fail(said)
        raise SourceError(f"--url {args.url}: {said}") from why


async def _import(args: argparse.Namespace, outlet: Outlet, beats: "_Beats", *, keep: bool) -> int:
    asked = asked_of(args)
    cursor: CursorFile[Progress] | None = CursorFile(_path(asked), Progress, 0.0) if keep else None

    async def deliver(out: Out) -> bool:
        if keep:
            return await outlet.deliver(out)
        for topic, message in out:
            outlet.publish(topic, message)
        return True

    async with aiohttp.ClientSession() as session:
        beats.http = Http(args.url, Access(args), session, args.timeout)
        api = Api(beats.http.fetch)
        with Bar() as bar:
            progress = None if cursor is None or args.restart else cursor.load()
            if progress is not None and progress.over:
                bar.complain("this import is over, Kafka has all of it; --restart begins anew")
                return 0
            if progress is None:
                plan = await plan_of(api, args, asked)
                progress = Progress(plan, 0, plan.first)
            else:
                bar.complain("going on where this import was interrupted; --restart begins anew")

            def tell(progress: Progress, tally: Tally) -> None:
                bar.tell(progress, tally)
                beats.tell(tally, progress.over)

            importer = Importer(
                api=api,
                history=History(kafka_settings().cluster, args.cluster_label),
                deliver=deliver,
                stage=cursor.stage if cursor is not None else lambda _: None,
                tell=tell,
                complain=bar.complain,
                partial=args.partial,
            )
            await importer.run(progress)
            if importer.tally.doubts:
                bar.complain(f"{sum(importer.tally.doubts.values())} answers lacked something")
    return importer.tally.messages


async def plan_of(api: Api, args: argparse.Namespace, asked: Asked) -> Plan:
    """Raises `SourceError`."""
    now_s = time.time()
    from_s, to_s = read_time("--from", asked.from_, now_s), read_time("--to", asked.to, now_s)
    if from_s >= to_s:
        raise SourceError(f"--from {asked.from_} is not before --to {asked.to}")
    try:
        return await survey(api, asked, from_s, to_s, args.step)
    except (Busy, TooMuch) as why:
        raise SourceError(f"--url {asked.url}: {why}") from why


def _path(asked: Asked) -> Path:
    """The same words are the same import."""
    name = f"{zlib.crc32(msgspec.json.encode(asked)):08x}.json"
    return Path(kafka_settings().state) / SOURCE / name


class _Beats:
    """One an interval, and one at the end."""

    def __init__(self, outlet: Outlet, args: argparse.Namespace, asked: Asked) -> None:
        self._outlet = outlet
        self._interval_s: float = args.interval
        instance = f":{args.instance}" if getattr(args, "instance", None) else ""
        self._collector = f"{SOURCE}@{socket.gethostname()}{instance}"
        self._asked = asked
        self.http: Http | None = None
        self._told, self._told_bytes = Tally(), 0
        self._told_s = time.monotonic()

    def tell(self, tally: Tally, over: bool) -> None:
        """Where an interval has passed."""
        if over or time.monotonic() - self._told_s >= self._interval_s:
            self._beat(tally, None)

    def fail(self, why: str) -> None:
        """It ends here."""
        self._beat(self._told, why)

    def _beat(self, tally: Tally, error: str | None) -> None:
        seconds, self._told_s = time.monotonic() - self._told_s, time.monotonic()
        size = 0 if self.http is None else self.http.bytes
        doubt = next(iter(tally.doubts), None)
        self._outlet.beat(
            Beat(
                cluster=kafka_settings().cluster,
                ts_us=time.time_ns() // 1000,
                collector=self._collector,
                source=SOURCE,
                target=self._asked.url,
                ok=error is None and doubt is None,
                error=error or doubt,
                seconds=seconds,
                messages=tally.messages - self._told.messages,
                samples=tally.samples - self._told.samples,
                bytes=size - self._told_bytes,
            )
        )
        self._told, self._told_bytes = Tally(messages=tally.messages, samples=tally.samples), size
