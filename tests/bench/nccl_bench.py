"""What the NCCL sources cost a CPU, beside a floor on the same bytes in the same run."""

import json
import pickle
import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path

from collectors.flight_recorder.dump import read_dump
from collectors.flight_recorder.window import windows as fr_windows
from collectors.nccl.folder import read_raw
from collectors.nccl.intake import Intake
from collectors.nccl_ras.answer import read_answer
from collectors.nccl_ras.window import windows as ras_windows
from collectors.nccl_tests.source import publish
from collectors.tail import NumberedLine
from tests.collectors.fr_dumps import FRAME, dump, entry
from tests.collectors.list_outlet import ListOutlet
from tests.collectors.ras_answers import document, rank
from tests.collectors.test_nccl_record import line
from tests.collectors.test_nccl_tests import NEW

LINES = 50_000
ENTRIES = 2_000
RANKS = 4_096
ROUNDS = 3


def cpu_s(work: Callable[[], object]) -> float:
    """The best of a few rounds, CPU seconds."""
    best = float("inf")
    for _ in range(ROUNDS):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return best


def show(what: str, count: int, unit: str, ours: float, floor_name: str, floor: float) -> None:
    """One line."""
    print(
        f"{what:<34}{count / ours:>11,.0f} {unit} per CPU-second  {ours / floor:>6.1f} x the time of {floor_name}",
        flush=True,
    )


def inspector() -> None:
    """Lines of a process's file into windows; the floor only decodes them."""
    raws = [json.dumps(line(coll_perf__coll_sn=n)).encode() for n in range(LINES)]

    def ours() -> None:
        intake = Intake(ListOutlet(), "c", "j", None, "here", Path("d"))
        path = Path("f")
        found = (read_raw(path, NumberedLine(n, raw)) for n, raw in enumerate(raws))
        intake.add([one for one in found if one is not None])
        intake.flush()

    show("nccl-inspector", LINES, "records", cpu_s(ours), "json.loads", cpu_s(lambda: [json.loads(r) for r in raws]))


def ras() -> None:
    """A whole answer of a job of `RANKS` ranks in one communicator; the floor only decodes it."""
    ranks = [rank(n, {"AllReduce": 9_000, "AllGather": 70}) for n in range(RANKS)]
    raw = json.dumps(document(communicators=[{"hash": "0x1", "size": RANKS, "ranks": ranks}]), indent=2).encode()

    def ours() -> None:
        list(ras_windows(read_answer(raw), cluster="c", job="j", node="n", ts_us=1))

    show("nccl-ras, JSON", RANKS, "ranks", cpu_s(ours), "json.loads", cpu_s(lambda: json.loads(raw)))


def flight_recorder() -> None:
    """One rank's dump with ten frames an entry; the floor is Python's own unpickler, which runs what it reads."""
    entries = [entry(n, frames=[FRAME] * 10) for n in range(ENTRIES)]
    raw = pickle.dumps(dump(0, entries=entries), protocol=2)

    def ours() -> None:
        list(fr_windows(read_dump(raw), cluster="c", job="j", node="n", job_rank=0, ts_us=1, last=200))

    show("flight-recorder", ENTRIES, "entries", cpu_s(ours), "pickle.loads", cpu_s(lambda: pickle.loads(raw)))


def nccl_tests() -> None:
    """Tables; the floor only splits their lines into words."""
    raw = NEW.encode() * 500
    args = Namespace(job="j", node="n", collective=None)
    floor = cpu_s(lambda: [row.split() for row in raw.decode().split("\n")])
    show("nccl-tests", 1000, "rows", cpu_s(lambda: publish(raw, 1, Path("f"), args, ListOutlet())), "str.split", floor)


def main(argv: Sequence[str] = ()) -> None:
    """Print the table."""
    for bench in (inspector, ras, flight_recorder, nccl_tests):
        bench()


if __name__ == "__main__":
    main()
