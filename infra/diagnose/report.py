"""What `lockstep diagnose` found: a list of answers and a verdict."""

from dataclasses import dataclass, field
from typing import Literal

Reply = Literal["yes", "no", "not known"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One question with its answer in a sentence and the numbers behind it."""

    question: str
    reply: Reply | str
    words: str
    numbers: dict[str, float | str | None] = field(default_factory=dict)
    details: list[str] = field(default_factory=list)
    """Further lines, most telling first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The likeliest cause. `cause`: a word of the causes table, or `not_slow`, `unknown`."""

    cause: str
    part: str
    """`kind id`, or empty."""
    confidence: Literal["high", "medium", "low"]
    words: str
    action: str = ""
    runbook: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The whole diagnosis of one job."""

    cluster: str
    job: str
    span: tuple[int, int]
    """Unix microseconds of the first and last message looked at."""
    answers: list[Answer]
    verdict: Verdict
    picture: list[tuple[str, list[float | None]]] = field(default_factory=list)
    """(rank or node, own compute over its peers in each of some equal parts of the time)."""
