"""A process that serves pages of dcgm-exporter over loopback, for benches: `python -m tests.bench.pages PAGES [FIRST]`.

The pages are of nodes FIRST (0) and following. Prints its port. `GET /ANY/NUMBER` is a page, `GET /count/ANY` the
number of pages served under that name.
"""

import asyncio
import sys
from collections import Counter

from collectors.dcgm.fields import fields_by_name

GPUS = 8
FIELDS = 32
SAMPLES = GPUS * FIELDS
VERSIONS = 5
"""Each page is served in so many versions with other values, one after the other."""


def names() -> list[str]:
    """Metrics of a usual size of a page."""
    known = [f for f in fields_by_name().values() if f.kind in ("gauge", "counter") and f.unit != "text"]
    return list(dict.fromkeys(f.name for f in known))[10 : 10 + FIELDS]


def page(node: int, version: int) -> bytes:
    """8 GPUs x 32 metrics with Kubernetes labels; a third of the values prints as doubles, as in the exporter."""
    out: list[str] = []
    for number, name in enumerate(names()):
        out.append(f"# HELP {name} Value of the field (in its unit).\n# TYPE {name} gauge\n")
        for gpu in range(GPUS):
            value = 300 + number * 7 + gpu + version
            labels = (
                f'gpu="{gpu}",UUID="GPU-{node:08x}-0000-4000-8000-{gpu:012d}",'
                f'pci_bus_id="00000000:{0x1A + gpu:02X}:00.0",device="nvidia{gpu}",'
                f'modelName="NVIDIA H100 80GB HBM3",Hostname="node-{node:04d}",'
                f'DCGM_FI_DRIVER_VERSION="570.124.06",container="train",namespace="team-a",'
                f'pod="llm-worker-{node}-{gpu}"'
            )
            out.append(f"{name}{{{labels}}} {value if number % 3 else f'{value / 7:.6f}'}\n")
    return "".join(out).encode()


async def serve(pages: int, first: int = 0) -> None:
    """Until killed."""
    bodies = [[page(first + node, version) for version in range(VERSIONS)] for node in range(pages)]
    answers = [
        [b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % len(b) + b for b in versions]
        for versions in bodies
    ]
    served: Counter[str] = Counter()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                request = await reader.readuntil(b"\r\n\r\n")
                _, who, number = request.split(b" ", 2)[1].decode().split("/")
                if who == "count":
                    text = str(served[number]).encode()
                    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(text) + text)
                else:
                    writer.write(answers[int(number)][served[who] // pages % VERSIONS])
                    served[who] += 1
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(*map(int, sys.argv[1:])))
