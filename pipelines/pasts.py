"""The pasts of the GPUs' memory as a Dagster asset: once a day from the warehouse to the detectors."""

import dagster as dg

from collectors.contract.errors import UserError


@dg.asset(
    group_name="detectors",
    kinds={"duckdb", "kafka"},
    retry_policy=dg.RetryPolicy(max_retries=2, delay=60),
    description="What the detectors of memory errors must know from before Kafka's retention: days, events and row "
    "remaps of every GPU in the last four weeks, and the fleet's rates.",
)
def memory_pasts(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
    """Always up to now: a message a node, the last of which is true."""
    from warehouse.opening import WarehouseError
    from warehouse.pasts_telling import tell_pasts

    try:
        told = tell_pasts()
    except UserError as why:
        # Kafka may come back; a warehouse that is not there has to be made.
        raise dg.Failure(str(why), allow_retries=not isinstance(why, WarehouseError)) from why
    context.log.info(str(told))
    return dg.MaterializeResult(
        metadata={
            "nodes": told.nodes,
            "GPUs": told.gpus,
            "GPUs with corrected errors": told.gpus_with_errors,
            "event-days": told.event_days,
            "GPU-days": told.gpu_days,
        }
    )
