import logging

from streams.contract import INCIDENTS
from streams.outbox import RejectLimit, edge
from streams.sparing import Sparing
from tests.streams.story import found, gpu, hot
from tests.streams.test_alerts import told


def test_the_same_edge_has_the_same_name_and_another_state_or_time_another() -> None:
    assert edge(hot("G01", 0)) == edge(hot("G01", 0))
    assert edge(hot("G01", 0)) != edge(hot("G01", 0, state="updated"))
    assert edge(found("xid", gpu("G01"), 0, "xid_79")) != edge(hot("G01", 0))
    assert edge(told()) == edge(INCIDENTS.decode(INCIDENTS.encode(told())))


def test_a_flood_of_bad_bytes_is_reported_a_few_times_and_counted() -> None:
    limit = RejectLimit(most=2, window_s=60.0)
    assert [limit.admit("a", float(t)) for t in range(5)] == [0, 0, None, None, None]
    assert limit.admit("b", 1.0) == 0
    assert [limit.admit("a", 61.0), limit.admit("a", 62.0)] == [3, 0]


def test_a_log_line_that_repeats_is_let_through_once_in_a_while_with_its_count() -> None:
    sparing = Sparing(every_s=1e9)
    record = [logging.LogRecord("aiokafka", logging.ERROR, "", 0, "gone %s", (i,), None) for i in range(3)]
    assert [sparing.filter(r) for r in record] == [True, False, False]
    always = Sparing(every_s=0.0)
    always._held[("aiokafka", logging.ERROR, "gone %s")] = 7
    assert always.filter(record[0])
    assert record[0].getMessage() == "gone 0 (7 more like it)"
