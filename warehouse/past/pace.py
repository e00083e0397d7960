"""The pace of a job over the day before a moment."""

import duckdb

from warehouse.past.reading import FOLDER


def pace(connection: duckdb.DuckDBPyConnection, cluster: str, job: str, end_us: int) -> tuple[float, int] | None:
    """(median seconds a step, steps); None: the warehouse knows no step of that job in that day."""
    text = (FOLDER / "pace.sql").read_text()
    found = connection.execute(text, {"cluster": cluster, "job": job, "end": end_us}).fetchone()
    return None if found is None or found[0] is None else (float(found[0]), int(found[1]))
