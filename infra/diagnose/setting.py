"""When a job went on with another configuration or batch size."""

from collections.abc import Iterable

from collectors.contract.job import StepReport
from streams.detectors.straggler_limits import StragglerLimits
from streams.detectors.straggler_setting import Setting
from streams.detectors.straggler_steps import OpenStep


def setting_changes(reports: Iterable[StepReport], limits: StragglerLimits | None = None) -> list[tuple[int, str]]:
    """(time, words) in the order of the steps; judged as the straggler detector does."""
    limits = limits or StragglerLimits()
    steps: dict[tuple[int, int], OpenStep] = {}
    for report in reports:
        sizes = report.global_batch_size or [None] * len(report.step)
        for number, size in zip(report.step, sizes, strict=False):
            step = steps.setdefault((report.attempt, number), OpenStep(report.ts_us, report.ts_us))
            if report.config_hash is not None:
                step.configs.add(report.config_hash)
            if size is not None:
                step.batch_sizes.add(size)
    out: list[tuple[int, str]] = []
    setting = Setting()
    for (_, number), step in sorted(steps.items()):
        before = setting.config, setting.batch_size
        if setting.take(limits, step):
            for what, was, now in zip(
                ("configuration", "global batch size"), before, (setting.config, setting.batch_size), strict=True
            ):
                if was != now and None not in (was, now):
                    out.append((step.first_us, f"{what} {was} -> {now}, step {number}"))
    return out
