"""Widths and speeds of InfiniBand links, however a tool writes them."""

_NOMINAL = {
    "SDR": 2.5,
    "DDR": 5.0,
    "QDR": 10.0,
    "FDR10": 10.0,
    "FDR": 14.0,
    "EDR": 25.0,
    "HDR": 50.0,
    "NDR": 100.0,
    "XDR": 200.0,
}
"""Gb/s that a lane carries, by the generation's name (IBTA roadmap; 4 lanes of HDR are called 200 Gb/s)."""
_SIGNALLED = {10.3125: 10.0, 14.0625: 14.0, 25.78125: 25.0, 53.125: 50.0, 106.25: 100.0, 212.5: 200.0}
"""Gbaud or Gb/s on the wire, which infiniband-diags prints, -> what is carried."""


def lanes(text: str | None) -> int | None:
    """`4X` -> 4."""
    digits = (text or "").rstrip("xX")
    return int(digits) if digits.isdecimal() and len(digits) < 3 else None


def lane_gbps(text: str | None) -> float | None:
    """`NDR` or `106.25 Gbps` -> 100.0; None: not known."""
    if text is None:
        return None
    if text.upper() in _NOMINAL:
        return _NOMINAL[text.upper()]
    number = text.removesuffix("Gbps").strip()
    try:
        return _SIGNALLED.get(float(number), float(number))
    except ValueError:
        return None
