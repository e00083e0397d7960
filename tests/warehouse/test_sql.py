"""`lockstep sql`."""

import csv
import io
import json
import re
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from collectors.contract.errors import UserError
from warehouse.sql_output import Output, SqlError, run_statements, table_lines
from warehouse.sql_prompt import command, is_whole
from warehouse.sql_values import single

Lake = duckdb.DuckDBPyConnection

ODD = """
select null as n, 0 as zero, true as yes, 1.5::FLOAT as half, 608.389::FLOAT as power, 'a,"b"' as words,
    timestamptz '2026-05-28 20:26:40.5+00' as at, [1, null] as list, {'a': 'x'} as part,
    18446744073709551615::UBIGINT as big, 'NaN'::DOUBLE as nan, '\\x00'::BLOB as raw
"""


def run(lake: Lake, text: str, form: str, most: int = 1000) -> str:
    out = io.StringIO()
    run_statements(lake, text, Output(form, most, out))
    return out.getvalue()


def test_json_is_one_array_of_plain_values(lake: Lake) -> None:
    assert json.loads(run(lake, ODD, "json")) == [
        {
            "n": None,
            "zero": 0,
            "yes": True,
            "half": 1.5,
            "power": 608.389,
            "words": 'a,"b"',
            "at": "2026-05-28T20:26:40.500000Z",
            "list": [1, None],
            "part": {"a": "x"},
            "big": 18446744073709551615,
            "nan": None,
            "raw": "AA==",
        }
    ]


def test_json_of_no_rows_is_an_empty_array(lake: Lake) -> None:
    assert json.loads(run(lake, "from beats", "json")) == []


def test_csv_has_a_header_and_leaves_null_empty(lake: Lake) -> None:
    assert list(csv.reader(io.StringIO(run(lake, ODD, "csv")))) == [
        ["n", "zero", "yes", "half", "power", "words", "at", "list", "part", "big", "nan", "raw"],
        [
            "",
            "0",
            "true",
            "1.5",
            "608.389",
            'a,"b"',
            "2026-05-28T20:26:40.500000Z",
            "[1, null]",
            '{"a": "x"}',
            "18446744073709551615",
            "",
            "AA==",
        ],
    ]


def test_a_table_puts_numbers_right_and_says_null(lake: Lake) -> None:
    assert run(lake, "select 'a' as name, 5 as n union all select 'bcd', null order by 1", "table") == (
        "name     n\n----  ----\na        5\nbcd   NULL\n"
    )


def test_a_table_stops_at_its_bound_and_says_so(lake: Lake, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(lake, "from range(5)", "table", most=2) == "range\n-----\n    0\n    1\n"
    assert capsys.readouterr().err == "the first 2 rows; --rows 0 shows all\n"


def test_rows_too_wide_for_the_terminal_stand_one_value_a_line() -> None:
    assert list(table_lines(["a", "long_name"], [["x" * 30, 2]], 20)) == [
        "-- 1 --",
        f"a          {'x' * 30}",
        "long_name  2",
    ]


def test_parquet_goes_to_a_file(lake: Lake, tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"
    run_statements(lake, "select 1 as a, 'b' as b;", Output("parquet", 0, io.StringIO(), path))
    assert pq.read_table(path).to_pylist() == [{"a": 1, "b": "b"}]
    assert list(tmp_path.glob("*.part")) == []


def test_several_statements_run_in_order(lake: Lake) -> None:
    assert run(lake, "select 1 as a; select ';' as b", "csv") == "a\n1\nb\n;\n"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("selec 1", "syntax error"),
        ("from nowhere", "nowhere does not exist"),
        ("select 'a'::INT", "Could not convert"),
    ],
)
def test_a_wrong_statement_is_told_in_the_databases_words(lake: Lake, text: str, why: str) -> None:
    with pytest.raises(SqlError, match=why):
        run(lake, text, "table")


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("select 1;", True),
        ("select 1", False),
        ("select ';'", False),
        ("select 1; -- done", True),
        ("select 1 -- ;", False),
        ("select 1 /* ; */", False),
        ("select 1; /* open", False),
        ("select 'it''s';", True),
        ('select ";" from t;\n', True),
        ("select 1;\nselect 2", False),
    ],
)
def test_a_statement_is_whole_when_its_semicolon_counts(text: str, whole: bool) -> None:
    assert is_whole(text) is whole


def test_the_prompt_lists_and_describes(lake: Lake) -> None:
    out = io.StringIO()
    command(lake, [".tables"], Output("table", 0, out))
    command(lake, [".schema", "gpu_scrapes"], Output("table", 0, out))
    text = out.getvalue()
    assert re.search(r"^gpu_now +view +cluster x node x GPU", text, re.MULTILINE)
    assert "SM clock, MHz" in text
    assert "Never sum across scrapes" in text


@pytest.mark.parametrize("words", [[".tabels"], [".schema"], [".schema", "nope"], [".rows", "many"], [".format", "x"]])
def test_an_unknown_word_of_the_prompt_is_told(lake: Lake, words: list[str]) -> None:
    with pytest.raises(UserError):
        command(lake, words, Output("table", 0, io.StringIO()))


@pytest.mark.parametrize("value", [0.0, 0.1, 608.389, 16777216.0, 1e-15, 0.346903, 3.4e38])
def test_a_single_precision_number_is_shown_as_it_was_meant(lake: Lake, value: float) -> None:
    ((stored,),) = lake.execute("select $value::FLOAT", {"value": value}).fetchall()
    assert single(stored) == value
