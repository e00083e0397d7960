"""Exporter pages that number themselves: `python -m tests.bench.numbered_pages PAGES` prints its port.

`GET /l/NUMBER` is the next page of a node, whose energy counter is how many it has been sent; `GET /counts` is
`{node: [Unix time of each]}`.
"""

import asyncio
import json
import sys
import time
from collections import defaultdict

from tests.bench.pages import page

ENERGY = "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"


def numbered(base: bytes, node: int, count: int) -> bytes:
    """The page with one more metric on top."""
    labels = f'gpu="0",UUID="GPU-{node:08x}-0000-4000-8000-{0:012d}",Hostname="node-{node:04d}"'
    return f"{ENERGY}{{{labels}}} {count}\n".encode() + base


async def serve(pages: int) -> None:
    """Until killed."""
    bases = [
        b"".join(line for line in page(node, 0).splitlines(keepends=True) if ENERGY.encode() not in line)
        for node in range(pages)
    ]
    served: dict[str, list[float]] = defaultdict(list)

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                request = await reader.readuntil(b"\r\n\r\n")
                path = request.split(b" ", 2)[1].decode()
                if path == "/counts":
                    body = json.dumps(served).encode()
                else:
                    node = int(path.rpartition("/")[2])
                    served[f"node-{node:04d}"].append(time.time())
                    body = numbered(bases[node], node, len(served[f"node-{node:04d}"]))
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
