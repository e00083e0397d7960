"""The process around sources that run until they are stopped."""

import asyncio
import logging
import signal
from pathlib import Path

from confluent_kafka import KafkaException

from collectors.config_file import Configured
from collectors.contract.kafka import kafka_client, kafka_settings
from collectors.keeper import Keeper
from collectors.metrics import listen
from collectors.outlet_confirm import connect_confirmed
from collectors.outlet_kafka import KafkaOutlet
from collectors.outlet_log import limited_logger
from collectors.outlet_producer import connect
from collectors.settings import collector_settings
from collectors.source import SourceError
from collectors.spool_folder import SpoolFolder


def serve(wanted: list[Configured], metrics_listen: str | None) -> int:
    """Run until every source has ended or a signal comes; 0. Raises `UserError` where a lone source cannot start."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    settings, kafka = collector_settings(), kafka_settings()
    client = kafka_client(kafka)
    name = process_name(wanted)
    folder = SpoolFolder(Path(kafka.state) / "spool", name)
    try:
        outlet = KafkaOutlet(
            lambda: connect(client, settings, name),
            folder,
            settings,
            kafka.cluster,
            make_confirmed=lambda: connect_confirmed(client, settings, name),
        )
    except KafkaException as why:
        raise SourceError(f"LOCKSTEP_KAFKA_CONFIG: {why.args[0].str()}") from why
    metrics = listen(outlet, metrics_listen, settings)
    log = limited_logger("lockstep.collect")
    if metrics is not None:
        log.info("%s to %s; own metrics on http://%s:%d/metrics", name, client.bootstrap, *metrics.address)
    try:
        asyncio.run(_run(Keeper(wanted, outlet, folder.path.name, kafka.cluster), outlet))
    finally:
        if metrics is not None:
            metrics.close()
        outlet.close()
    if outlet.spooled:
        log.warning("%d messages wait on disk under %s for the next start", outlet.spooled, folder.path)
    return 0


def process_name(wanted: list[Configured]) -> str:
    """What the spool folder is called: the source and its instance, or `many`."""
    if len(wanted) != 1:
        return "many"
    instance = getattr(wanted[0].args, "instance", None)
    return wanted[0].name + (f"-{instance}" if instance else "")


async def _run(keeper: Keeper, outlet: KafkaOutlet) -> None:
    sources = asyncio.create_task(keeper.run())
    ticking = asyncio.create_task(outlet.serve())
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, sources.cancel)
    try:
        await asyncio.wait({sources, ticking}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        sources.cancel()
        ticking.cancel()
        ended = await asyncio.gather(sources, ticking, return_exceptions=True)
    for one in ended:
        if isinstance(one, Exception):
            raise one
