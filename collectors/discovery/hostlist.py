"""Hostlists as Slurm writes them: `gpu[001-128,200]`, `r[1-2]n[01-16]`, `a1,b[2-3]-ib`."""

import re
from itertools import chain, product

_PIECE = re.compile(r"[A-Za-z0-9_.:-]*")
_RANGE = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")


class HostlistError(ValueError):
    """No hostlist, or one that names more hosts than wanted; the text says what is wrong with it."""


def expand(text: str, limit: int) -> list[str]:
    """The hosts in the order of the text; numbers keep their leading zeros. Raises `HostlistError`.

    Of several brackets in a name the last one runs fastest, as in `scontrol show hostnames`.
    """
    out: list[str] = []
    for word in _words(text):
        pieces = _pieces(word)
        count = 1
        for piece in pieces:
            count *= sum(high - low + 1 for low, high, _ in piece) if isinstance(piece, list) else 1
        if len(out) + count > limit:
            raise HostlistError(f"{word}: more than {limit} hosts")
        choices = [_numbers(piece) if isinstance(piece, list) else [piece] for piece in pieces]
        out.extend(map("".join, product(*choices)))
    return out


def _words(text: str) -> list[str]:
    """Parted by commas and white space outside of brackets."""
    words, depth, start = [], 0, 0
    for place, sign in enumerate(text):
        depth += (sign == "[") - (sign == "]")
        if not 0 <= depth <= 1:
            raise HostlistError(f"{_cut(text)}: brackets that do not match")
        if depth == 0 and (sign == "," or sign.isspace()):
            words.append(text[start:place])
            start = place + 1
    if depth:
        raise HostlistError(f"{_cut(text)}: a bracket is not closed")
    return [word for word in [*words, text[start:]] if word]


def _pieces(word: str) -> list[str | list[tuple[int, int, int]]]:
    """Text, or the ranges between two brackets: first, last and the width of their numbers."""
    out: list[str | list[tuple[int, int, int]]] = []
    for number, part in enumerate(re.split(r"[\[\]]", word)):
        if number % 2:
            out.append([_range(one, word) for one in part.split(",")])
        elif _PIECE.fullmatch(part):
            out.append(part)
        else:
            raise HostlistError(f"{_cut(word)}: not the name of a host")
    return out


def _range(text: str, word: str) -> tuple[int, int, int]:
    found = _RANGE.fullmatch(text.strip())
    if found is None:
        raise HostlistError(f"{_cut(word)}: {_cut(text)!r} is no number and no range such as 001-128")
    low, high = int(found[1]), int(found[2] or found[1])
    if high < low:
        raise HostlistError(f"{_cut(word)}: the range {text} runs backwards")
    return low, high, len(found[1])


def _numbers(ranges: list[tuple[int, int, int]]) -> list[str]:
    return list(chain.from_iterable((f"{n:0{width}d}" for n in range(low, high + 1)) for low, high, width in ranges))


def _cut(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:60]}…"
