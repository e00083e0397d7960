"""`python -m infra.kafka.setup`: fetch and verify Kafka's jars; the last step of `make setup`."""

import sys

from collectors.contract.errors import UserError
from infra.kafka.jars import fetch
from infra.kafka.local import default_jars


def main() -> int:
    """Exit status 1, with one line, when a jar could not be had."""

    def told(done: int, of: int) -> None:
        if sys.stderr.isatty():
            sys.stderr.write(f"\rKafka: {done} of {of} jars" + ("\n" if done == of else ""))

    try:
        fetched = fetch(default_jars(), told)
    except UserError as why:
        sys.stderr.write(f"Kafka: {why}\n")
        return 1
    if fetched:
        print(f"Kafka: {fetched} jars fetched and verified")
    return 0


if __name__ == "__main__":
    sys.exit(main())
