"""What a device hears from its neighbours -> `Link`: only what changed since it was told last."""

from collections.abc import Collection, Mapping

from collectors.contract.fabric import Link

Heard = tuple[str, str | None]
"""The far device and its port, where that is told."""


class Cables:
    """The links of one device that were told already."""

    def __init__(self) -> None:
        self._told: dict[str, Heard] = {}

    def __len__(self) -> int:
        return len(self._told)

    def changes(
        self,
        device: str,
        ts_us: int,
        cluster: str,
        heard: Mapping[str, Heard],
        *,
        complete: bool = True,
        gone: Collection[str] = (),
    ) -> list[Link]:
        """The links that differ from what was told. `heard` is port -> neighbour.

        A link whose neighbour is not heard is told as down; where `heard` is not `complete`, only on the ports `gone`.
        """
        lost = {p: far for p, far in self._told.items() if p not in heard and (complete or p in gone)}
        new = {p: far for p, far in heard.items() if self._told.get(p) != far}
        self._told = {p: far for p, far in {**self._told, **heard}.items() if p not in lost}
        return [_link(device, ts_us, cluster, port, far, True) for port, far in new.items()] + [
            _link(device, ts_us, cluster, port, far, False) for port, far in lost.items()
        ]


def _link(device: str, ts_us: int, cluster: str, port: str, far: Heard, up: bool) -> Link:
    return Link(
        cluster=cluster,
        ts_us=ts_us,
        device=device,
        port=port,
        far_device=far[0],
        far_port=far[1],
        source="lldp",
        up=up,
    )
