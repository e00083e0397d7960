"""What Dagster loads: `dagster dev` from the repository's root."""

import dagster as dg

from pipelines.assets import DAILY_ASSETS, HOURLY_ASSETS, daily_report
from pipelines.checks import CHECKS
from pipelines.pasts import memory_pasts
from pipelines.schedules import JOBS, SCHEDULES

defs = dg.Definitions(
    assets=[*HOURLY_ASSETS, *DAILY_ASSETS, daily_report, memory_pasts],
    asset_checks=CHECKS,
    jobs=JOBS,
    schedules=SCHEDULES,
    # A process a step costs 8 s each; these steps are short.
    executor=dg.in_process_executor,
)
