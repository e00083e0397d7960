"""SRV records: host and port of each exporter, from DNS, Consul or a headless service of Kubernetes."""

import ipaddress
from typing import Any

from collectors.discovery.discovery import Found
from collectors.source import SourceError

WAIT_S = 5.0


class DnsSrv:
    """The records of one name, sorted. `server` None: the resolvers of this host, else `ADDRESS[:PORT]`."""

    def __init__(self, record: str, server: str | None = None, wait_s: float = WAIT_S) -> None:
        """Raises `SourceError`."""
        self.name = f"dns-srv:{record}"
        self._record = record
        self._wait_s = wait_s
        self._server = None if server is None else _server(server)

    def find(self) -> list[Found]:
        """As in `Discovery`."""
        import dns.exception
        import dns.resolver

        try:
            answer = self._resolver().resolve(self._record, "SRV", lifetime=self._wait_s)
        except dns.resolver.NXDOMAIN as why:
            raise SourceError(f"no such name {self._record}; write it whole, such as _dcgm._tcp.example.org") from why
        except dns.resolver.NoAnswer as why:
            raise SourceError(f"{self._record} has no SRV record") from why
        except dns.exception.Timeout as why:
            raise SourceError(f"no answer about {self._record} within {self._wait_s:g} s") from why
        except dns.exception.DNSException as why:
            raise SourceError(f"{self._record}: {str(why) or type(why).__name__}") from why
        except OSError as why:
            raise SourceError(f"{self._record}: {why.strerror or why}") from why
        found = dict.fromkeys(_found(record) for record in sorted(answer) if str(record.target) != ".")
        if not found:
            raise SourceError(f"{self._record}: its SRV record says that there is no such service")
        return list(found)

    def _resolver(self) -> Any:
        import dns.resolver

        if self._server is None:
            return dns.resolver.Resolver()
        resolver = dns.resolver.Resolver(configure=False)
        address, port = self._server
        resolver.nameservers, resolver.port = [address], port
        return resolver


def _found(record: Any) -> Found:
    return Found(str(record.target).rstrip("."), record.port)


def _server(text: str) -> tuple[str, int]:
    address, port = text, "53"
    if text.startswith("["):
        address, _, rest = text[1:].partition("]")
        port = rest.removeprefix(":") or port
    elif text.count(":") == 1:
        address, _, port = text.partition(":")
    try:
        ipaddress.ip_address(address)
        number = int(port)
    except ValueError:
        number = 0
    if not 0 < number < 65536:
        raise SourceError(f"--dns-server {text}: write an address and perhaps a port, such as 10.0.0.2:8600")
    return address, number
