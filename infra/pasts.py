"""What the stream is told of the past when it starts: its own process, as a scan of weeks must not hold up a page."""

import logging
import subprocess
import sys

from collectors.contract.errors import UserError

log = logging.getLogger("lockstep.pasts")

END_S = 5.0


class Teller:
    """The process that tells; ends by itself."""

    def __init__(self) -> None:
        # A session of its own: Ctrl-C ends the stream, which ends it.
        self._process = subprocess.Popen([sys.executable, "-m", "infra.pasts"], start_new_session=True)

    def end(self) -> None:
        """Stop it if it still reads."""
        if self._process.poll() is None:
            self._process.terminate()
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def main() -> int:
    """Tell the pasts once; without a warehouse say so and leave it."""
    from warehouse.opening import WarehouseError
    from warehouse.pasts_telling import tell_pasts

    logging.basicConfig(
        stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s", force=True
    )
    try:
        told = tell_pasts()
    except WarehouseError as why:
        log.info("memory errors are judged without a past: %s", why)
    except UserError as why:
        log.warning("memory errors are judged without a past: %s", why)
        return 1
    else:
        log.info("memory errors are judged with their past; %s", told)
    return 0


if __name__ == "__main__":
    sys.exit(main())
