"""A real redis-server filled as a SONiC switch fills it."""

import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import redis

APPL, COUNTERS, CONFIG, FLEX, STATE = 0, 2, 4, 5, 6
SERVER = shutil.which("redis-server")
POLLS = {
    "PORT_STAT_COUNTER": 1000,
    "PORT_BUFFER_DROP_STAT": 60000,
    "QUEUE_STAT_COUNTER": 10000,
    "QUEUE_WATERMARK_STAT_COUNTER": 60000,
    "PG_DROP_STAT_COUNTER": 10000,
    "PG_WATERMARK_STAT_COUNTER": 60000,
    "BUFFER_POOL_WATERMARK_STAT_COUNTER": 60000,
    "WRED_ECN_QUEUE_STAT_COUNTER": 10000,
    "WRED_ECN_PORT_STAT_COUNTER": 1000,
    "PFC_WD": 200,
}


@dataclass(frozen=True, slots=True)
class SonicRedis:
    """One running server; `number` is a database."""

    socket: Path

    @property
    def option(self) -> str:
        """What `--redis` takes."""
        return f"unix:{self.socket}"

    def client(self, number: int) -> Any:
        """A client of one database."""
        return redis.Redis(unix_socket_path=str(self.socket), db=number)

    def fill(
        self,
        ports: int = 2,
        *,
        oid: int = 0x1000,
        indices: Iterable[int] = (3, 4),
        neighbours: Mapping[str, tuple[str, str]] | None = None,
    ) -> None:
        """Ports `Ethernet0`, `Ethernet4`, ... with queues and priority groups of these numbers, and one pool."""
        counters, appl = self.client(COUNTERS).pipeline(), self.client(APPL).pipeline()
        for number in range(ports):
            port, at = f"Ethernet{4 * number}", oid + 32 * number
            counters.hset("COUNTERS_PORT_NAME_MAP", port, f"oid:{at:#x}")
            counters.hset(f"COUNTERS:oid:{at:#x}", mapping=port_fields(number))
            counters.hset(
                f"RATES:oid:{at:#x}", mapping={"FEC_PRE_BER": "1.5e-08", "SAI_PORT_STAT_IF_IN_OCTETS_last": "1"}
            )
            appl.hset(
                f"PORT_TABLE:{port}", mapping={"oper_status": "up", "speed": "400000", "fec": "rs", "lanes": "1,2"}
            )
            for index in indices:
                queue, group = f"oid:{at + index + 1:#x}", f"oid:{at + 16 + index:#x}"
                counters.hset("COUNTERS_QUEUE_NAME_MAP", f"{port}:{index}", queue)
                counters.hset("COUNTERS_PG_NAME_MAP", f"{port}:{index}", group)
                counters.hset(f"COUNTERS:{queue}", mapping=QUEUE_FIELDS)
                counters.hset(
                    f"COUNTERS:{group}", mapping={"SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS": str(index)}
                )
                counters.hset(f"PERIODIC_WATERMARKS:{queue}", mapping={"SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES": "900"})
        for port, (system, far) in (neighbours or {}).items():
            appl.hset(f"LLDP_ENTRY_TABLE:{port}", mapping={"lldp_rem_sys_name": system, "lldp_rem_port_id": far})
        counters.hset("COUNTERS_BUFFER_POOL_NAME_MAP", "ingress_lossless_pool", "oid:0x18")
        counters.hset("PERIODIC_WATERMARKS:oid:0x18", mapping={"SAI_BUFFER_POOL_STAT_WATERMARK_BYTES": "77"})
        counters.execute()
        appl.execute()
        self.client(CONFIG).hset("DEVICE_METADATA|localhost", mapping={"hostname": "leaf7"})
        for name, milliseconds in POLLS.items():
            self.client(FLEX).hset(
                f"FLEX_COUNTER_GROUP_TABLE:{name}",
                mapping={"POLL_INTERVAL": str(milliseconds), "FLEX_COUNTER_STATUS": "enable"},
            )


def port_fields(number: int) -> dict[str, str]:
    """106 fields, as many as a capture of a real port has."""
    fields = {
        "SAI_PORT_STAT_IF_IN_OCTETS": str(2**64 - 1 - number),
        "SAI_PORT_STAT_IF_IN_DISCARDS": "0",
        "SAI_PORT_STAT_IN_DROPPED_PKTS": "4",
    }
    for priority in range(8):
        for way in ("RX", "TX"):
            fields[f"SAI_PORT_STAT_PFC_{priority}_{way}_PKTS"] = str(priority)
            fields[f"SAI_PORT_STAT_PFC_{priority}_{way}_PAUSE_DURATION_US"] = "7"
    for number_ in range(106 - len(fields)):
        fields[f"SAI_PORT_STAT_IP_{number_}"] = "1"
    return fields


QUEUE_FIELDS = {
    "SAI_QUEUE_STAT_PACKETS": "12",
    "SAI_QUEUE_STAT_DROPPED_PACKETS": "5",
    "SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES": "3",
    "PFC_WD_STATUS": "operational",
    "PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED": "2",
}


@contextmanager
def running(folder: Path) -> Iterator[SonicRedis]:
    """A redis-server of its own, on a Unix socket, without persistence."""
    if SERVER is None:
        raise FileNotFoundError("redis-server")
    made = SonicRedis(folder / "redis.sock")
    command = [SERVER, "--port", "0", "--unixsocket", str(made.socket), "--save", "", "--dir", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait(made, process)
        yield made
    finally:
        process.terminate()
        process.wait()


def _wait(made: SonicRedis, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            made.client(0).ping()
        except redis.ConnectionError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return
