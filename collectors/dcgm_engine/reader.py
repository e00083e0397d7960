"""DCGM as a reader of GPUs: every sample between two sweeps, at its own time."""

import time
from collections.abc import Callable, Mapping, Sequence
from threading import Lock

from collectors.dcgm_engine.bindings import Bindings
from collectors.dcgm_engine.samples import GPU_INSTANCE, Entity, Sample, faults_of, hold, moments_of
from collectors.dcgm_engine.session import KEEP_S, Session, Where, open_session
from collectors.dcgm_engine.watched import BIND, EVENT_S, STATIC, Watch
from collectors.gpu.reading import Fault, GpuSource, GpuTrouble, Part, Reading, Row

REINITIALISING, READY = 1, 2
"""Values of the bind event."""
SILENT = 3.0
"""So many intervals without a sample: the engine does not read the GPUs."""
ADVICE = {
    -21: "is nv-hostengine running there (`systemctl status nvidia-dcgm`), and is the address right (HOST:5555)?",
    -25: "DCGM's library is not found: name its folder with --library",
}


class DcgmReader:
    """As in `GpuReader`. One connection, one thread at a time: sweep and listener take turns."""

    source: GpuSource = "dcgm"
    keeps_time = True

    def __init__(
        self,
        dcgm: Bindings,
        where: Where,
        node: str,
        wanted: Sequence[Watch],
        library: str | None = None,
        with_faults: bool = True,
        keep_s: float = KEEP_S,
        now_us: Callable[[], int] = lambda: time.time_ns() // 1000,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.target = where.words
        self._dcgm = dcgm
        self._where = where
        self._node = node
        self._wanted = [watch for watch in wanted if with_faults or watch.name != "xid"]
        self._library = library
        self._keep_s = keep_s
        self._now_us = now_us
        self._sleep = sleep
        self._turn = Lock()
        self._session: Session | None = None
        self._held: dict[tuple[Entity, int], Sample] = {}
        self._newest_us = 0
        self._reinitialises = False

    def open(self) -> Mapping[str, Part]:
        """As in `GpuReader`: one part, the engine."""
        self.close()
        now_us = self._now_us()
        try:
            session = open_session(
                self._dcgm, self._where, self._library, self._node, self._wanted, now_us, self._keep_s
            )
        except self._dcgm.structs.DCGMError as why:
            raise GpuTrouble(self._said(why)) from why
        except OSError as why:
            raise GpuTrouble(f"DCGM at {self.target}: {why}") from why
        if not session.gpus:
            session.close()
            raise GpuTrouble(f"DCGM at {self.target} knows no GPU: `dcgmi discovery -l`")
        self._session, self._held = session, {}
        self._newest_us, self._reinitialises = now_us, False
        return {"engine": Part(self._ask)}

    def close(self) -> None:
        """As in `GpuReader`."""
        with self._turn:
            session, self._session = self._session, None
            if session is not None:
                session.close()

    def faults(self) -> Sequence[Fault]:
        """As in `GpuReader`: the XIDs that DCGM kept since the last call."""
        self._sleep(EVENT_S)
        with self._turn:
            if self._session is None or "xid" not in self._session.names(event=True):
                return ()
            try:
                return faults_of(self._session.since("xid"), self._session.gpus)
            except self._dcgm.structs.DCGMError as why:
                raise GpuTrouble(f"XIDs are not heard: {self._said(why)}") from why

    def _ask(self, ts_us: int) -> Reading:
        with self._turn:
            if self._session is None:
                raise GpuTrouble(f"DCGM at {self.target}: not connected")
            try:
                return self._read(self._session, ts_us)
            except self._dcgm.structs.DCGMError as why:
                raise GpuTrouble(self._said(why)) from why

    def _read(self, session: Session, ts_us: int) -> Reading:
        samples = [sample for name in session.names(event=False) for sample in session.since(name)]
        hold(self._held, samples, frozenset(STATIC))
        reopen = self._bind(session)
        if session.instances().keys() != {entity for entity in session.gpus if entity[0] == GPU_INSTANCE}:
            reopen = "the MIG instances changed"
        fastest_s = min(watch.every_s for watch in self._wanted if not watch.event)
        moments = moments_of(samples, session.gpus, self._held, int(fastest_s * 5e5))
        why = None
        if samples:
            self._newest_us = max(sample.ts_us for sample in samples)
        elif ts_us - self._newest_us > SILENT * fastest_s * 1e6:
            why = f"DCGM took no sample for {(ts_us - self._newest_us) / 1e6:.0f} s"
        if self._reinitialises:
            moments, why = {}, "the driver re-initialises the GPUs: what is read meanwhile says nothing"
        newest_us = max(moments, default=ts_us)
        moments[newest_us] = self._with_sick(session, moments.get(newest_us, []))
        return Reading(
            moments={at: rows for at, rows in moments.items() if rows},
            labels={"driver_version": session.driver},
            reopen=reopen,
            why=why,
        )

    def _with_sick(self, session: Session, rows: list[Row]) -> list[Row]:
        """The rows of one moment; GPUs that are not at work say why, and nothing that was read of them counts."""
        sick = {session.gpus[entity].uuid: what for entity, what in session.sick().items()}
        if not sick:
            return rows
        rows = rows or [Row(gpu=gpu) for gpu in session.gpus.values()]
        return [
            Row(gpu=row.gpu, trouble=sick[row.gpu.uuid][0], lost=sick[row.gpu.uuid][1]) if row.gpu.uuid in sick else row
            for row in rows
        ]

    def _bind(self, session: Session) -> str | None:
        """Follow the driver's re-initialisation; why a new session is needed."""
        if "bind" not in session.names(event=True):
            return None
        reopen = None
        for sample in sorted(session.since("bind"), key=lambda sample: sample.ts_us):
            if sample.field == BIND and sample.status == 0 and sample.value in (REINITIALISING, READY):
                self._reinitialises = sample.value == REINITIALISING
                if sample.value == READY:
                    reopen = "the driver has re-initialised the GPUs"
        return reopen

    def _said(self, why: Exception) -> str:
        advice = ADVICE.get(int(getattr(why, "value", 0)))
        return f"DCGM at {self.target}: {why}" + (f"; {advice}" if advice else "")
