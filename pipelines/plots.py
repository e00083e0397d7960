"""Plots for Dagster (PNG in Markdown) and for the report (SVG)."""

import base64
import io
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from pipelines.buckets import BUCKETS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Draw = Callable[["Axes"], None]


def figure(draw: Draw, *, width: float = 9.0, height: float = 3.2) -> "Figure":
    """One plot, without a window or a display."""
    from matplotlib.figure import Figure

    made = Figure(figsize=(width, height), layout="constrained")
    axes = made.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    draw(axes)
    return made


def png_markdown(made: "Figure", words: str) -> str:
    """Markdown with the plot inside, for Dagster's metadata."""
    from PIL import Image

    drawn, out = io.BytesIO(), io.BytesIO()
    made.savefig(drawn, format="png", dpi=96)
    # A palette makes a quarter of it: Dagster keeps every one of these in its event log.
    Image.open(drawn).convert("RGB").quantize(64).save(out, format="png", optimize=True)
    return f"![{words}](data:image/png;base64,{base64.b64encode(out.getvalue()).decode()})"


def svg(made: "Figure") -> str:
    """SVG text without a background, for a white card: the colours are not told apart on black."""
    out = io.StringIO()
    made.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    return text[text.index("<svg") :]


def stacked_buckets(hours: Sequence[datetime], gpus: Mapping[str, Sequence[float]]) -> Draw:
    """Mean GPUs in each bucket, hour by hour. `gpus[bucket]` is parallel to `hours`."""

    def draw(axes: "Axes") -> None:
        floor = [0.0] * len(hours)
        for bucket in BUCKETS:
            if not any(gpus.get(bucket.name, ())):
                continue
            values = list(gpus[bucket.name])
            axes.bar(
                hours,  # type: ignore[arg-type]
                values,
                width=1 / 24,
                bottom=floor,
                color=bucket.colour,
                label=bucket.name.replace("_", " "),
                align="edge",
                edgecolor=bucket.colour,
                linewidth=0.3,
            )
            floor = [below + value for below, value in zip(floor, values, strict=True)]
        axes.set_ylabel("GPUs")
        _hours(axes)
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8, reverse=True)

    return draw


def lines(series: Mapping[str, tuple[Sequence[datetime], Sequence[float | None]]], unit: str) -> Draw:
    """One line for each name, from zero up; a None breaks its line."""

    def draw(axes: "Axes") -> None:
        for name, (times, values) in series.items():
            axes.plot(
                times,  # type: ignore[arg-type]
                [float("nan") if value is None else value for value in values],
                marker="o",
                markersize=3,
                linewidth=1.6,
                label=name,
            )
        axes.set_ylabel(unit)
        highest = max((v for _, values in series.values() for v in values if v is not None), default=1.0)
        axes.set_ylim(0, 1.12 * highest or 1.0)
        axes.grid(axis="y", alpha=0.25)
        _hours(axes)
        if series:
            axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8)

    return draw


def _hours(axes: "Axes") -> None:
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    axes.margins(x=0.01)
    locator = AutoDateLocator()  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
