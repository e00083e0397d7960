"""tqdm's progress bars, and Rich's as Lightning draws them."""

import re
from dataclasses import dataclass

from collectors.training_log.cells import number

# `NAME:  22%|██▏   | 4/18 [00:17<01:02,  4.47s/it, loss=9.9]`; without a total `NAME: 4it [00:17,  4.47s/it]`.
_TQDM = re.compile(
    r"(?:(?P<name>[A-Za-z][\w .-]{0,60}?)(?: ?: ?|:\s+:?\s*))?(?P<share>\d{1,3}%)?\|[^|]{0,400}\| {0,3}"
    r"(?P<done>\d{1,15})/(?P<total>\d{1,15}|\?) \[(?P<spent>[\d:]+)<(?P<left>[^,\]]{1,20})(?P<more>[^\]]{0,4000})\]"
)
_OPEN = re.compile(
    r"(?:(?P<name>[A-Za-z][\w .-]{0,60}?)(?: ?: ?|:\s+:?\s*))(?P<done>\d{1,15})it "
    r"\[(?P<spent>[\d:]+)(?P<more>,[^\]]{0,4000})\]"
)
_RICH = re.compile(
    r"^\s*(?P<name>Epoch \d+(?:/\d+)?)\s.{0,400}?\s(?P<done>\d{1,15})/(?P<total>\d{1,15}) "
    r"(?P<spent>\d+:\d\d:\d\d) • \S{1,20} (?P<more>[\d.]+(?:it/s|s/it)[^\r\n]{0,4000})"
)
_RATE = re.compile(r"(?:^|[, ])\s*([\d.]+)(it/s|s/it)")
_TIMING = re.compile(r"\btrain_step_timing in s=([\d.e+-]+)(?=[,\] ]|$)")


@dataclass(frozen=True, slots=True)
class Bar:
    """One state of a bar. `step_s`: its own smoothed rate, or the step's time where the program adds it."""

    name: str
    done: int
    total: int | None
    step_s: float | None


def read_bar(text: str) -> Bar | None:
    """The last bar in the text; None where there is none."""
    if "<" not in text and "it/s" not in text and "s/it" not in text:
        return None
    found = next((last for form in (_TQDM, _OPEN, _RICH) if (last := _last(form, text)) is not None), None)
    if found is None:
        return None
    groups = found.groupdict()
    total = groups.get("total")
    return Bar(
        name=(groups["name"] or "").strip(),
        done=int(groups["done"]),
        total=None if total in (None, "?") else int(total),
        step_s=_step_s(groups["more"]),
    )


def _last(form: re.Pattern[str], text: str) -> re.Match[str] | None:
    return next(reversed([*form.finditer(text)]), None)


def _step_s(more: str) -> float | None:
    if timing := _TIMING.search(more):
        return number(timing[1]) or None
    found = _RATE.search(more)
    rate = None if found is None else number(found[1])
    if not rate or found is None:
        return None
    return rate if found[2] == "s/it" else 1 / rate
