"""The rows of texts in every form: exact names and cells, and as many as the description says."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from for_each import first_quick, for_each
from memory_context.exceptions import InvalidSelectionError
from memory_context.text.describe import describe
from memory_context.text.rows.rows_in_text import table_of
from query_tables import FORMS

LOG = ("line", "time", "level", "source", "message")
SHOP = [{"id": f"00{n}", "city": city, "n": n} for n, city in enumerate(("Rome", "Oslo", "Rome"))]


def rows_of(text: str) -> tuple[tuple[str, ...], list[list[Any]]]:
    """The names and the rows of a text."""
    table = table_of(text)
    return table.columns, [list(row) for row in table.rows()]


@for_each(
    "text, columns, rows",
    [
        ("id,n\n007,\n008,x", ("id", "n"), [["007", None], ["008", "x"]]),
        ('id;n\n1;"a;b"\n2;"c\nd"', ("id", "n"), [["1", "a;b"], ["2", "c\nd"]]),
        ("a,x\nb,(5.00)\nc,(6.00)", ("a", "x"), [["b", "(5.00)"], ["c", "(6.00)"]]),
        ("name; total, EUR; day\na; 1,5; x\nb; 2,5; y", ("name", "total, EUR", "day"), [["a", "1,5", "x"], ["b", "2,5", "y"]]),
        ("№ | Name | Phone\n1 | Ann | +7 (5)\n2 | Bob | \n", ("№", "Name", "Phone"), [["1", "Ann", "+7 (5)"], ["2", "Bob", None]]),
        ("name | n\nann | 5\nbob | 12\n", ("name", "n"), [["ann", "5"], ["bob", "12"]]),
        ("Report\nof May\n\n№ | Name | Phone\n1 | Ann | ext. 5.\n2 | Bob | ext. 6.\n\nTwo of us.", ("№", "Name", "Phone"), [["1", "Ann", "ext. 5."], ["2", "Bob", "ext. 6."]]),
        ("a | b | c\n1 | 2 | 3\n4 | 5 | 6\n\n7 | 8\n", ("line", "text"), [[1, "a | b | c"], [2, "1 | 2 | 3"], [3, "4 | 5 | 6"], [4, ""], [5, "7 | 8"]]),
        ("id\tname, first\n1\tDoe, Ann\n2\tRoe, Bo", ("id", "name, first"), [["1", "Doe, Ann"], ["2", "Roe, Bo"]]),
        ("1,2.5\n2,3.5\n3,4.5", ("column1", "column2"), [["1", "2.5"], ["2", "3.5"], ["3", "4.5"]]),
        ('{"a": 1}\n{"a": 2, "b": [1]}', ("a", "b"), [[1, None], [2, [1]]]),
        ('{\n "a": 1\n}\n{\n "a": 2\n}', ("a",), [[1], [2]]),
        ('{"x": {"a": 1}, "y": {"a": 2}}', ("key", "a"), [["x", 1], ["y", 2]]),
        ('{"a": 1, "b": "x"}', ("a", "b"), [[1, "x"]]),
        ('{"at": 5, "hourly": {"time": ["0:00", "1:00"], "rain": [0.5, null]}, "daily": {"sun": [7], "max": [9]}}', ("time", "rain"), [["0:00", 0.5], ["1:00", None]]),
        ('{"a": [1, 2], "b": ["x", "y"], "notes": ["z"]}', ("a", "b"), [[1, "x"], [2, "y"]]),
        ('{"pods": [{"a": 1}], "warnings": ["x"], "errors": ["y"]}', ("a",), [[1]]),
        ('{"tags": ["u", "v", "w", "x", "y", "z"], "no": ["z"]}', ("value",), [[tag] for tag in "uvwxyz"]),
        ("[{'a': None, 'b': True}]", ("a", "b"), [[None, True]]),
        ("Found 2:\n\n[[1, 2], [3, 4]]", ("column1", "column2"), [[1, 2], [3, 4]]),
        ('{"stdout": "id,n\\n1,2\\n3,4\\n", "exit_code": 0}', ("id", "n"), [["1", "2"], ["3", "4"]]),
        ("```csv\nid,n\n1,2\n3,4\n```", ("id", "n"), [["1", "2"], ["3", "4"]]),
        (" id | name \n----+------\n  1 | ann\n  2 | \n(2 rows)\n", ("id", "name"), [["1", "ann"], ["2", None]]),
        (" id | name \n----+------\n  1 | ann\n    | bob\n", ("id", "name"), [["1", "ann"], [None, "bob"]]),
        ("+----+-----+\n| id | n   |\n+----+-----+\n|  1 | ann |\n+----+-----+\n1 row in set\n", ("id", "n"), [["1", "ann"]]),
        ("mysql> SELECT * FROM users;\n+----+-----+\n| id | n   |\n+----+-----+\n|  1 | ann |\n+----+-----+\n", ("id", "n"), [["1", "ann"]]),
        ("| name | n |\n| --- | --- |\n| -- | -- |\n| src/ä│b.txt | 3 |\n", ("name", "n"), [["--", "--"], ["src/ä│b.txt", "3"]]),
        ("id  name\n--  ----\n1   ann b\n2   bob\n", ("id", "name"), [["1", "ann b"], ["2", "bob"]]),
        ("name: ann\nage: 3\n\nname: bob\nage: 4\nnote: x\n  y\n", ("name", "age", "note"), [["ann", "3", None], ["bob", "4", "x y"]]),
        ("## Order: 7, State: open\n- **Total**: 1\n\n## Order: 8, State: shut\n- **Total**: 2\n", ("heading", "Order", "State", "Total"), [["Order: 7, State: open", "7", "open", "1"], ["Order: 8, State: shut", "8", "shut", "2"]]),
        ("Order 7: open\nTotal: 1\nCity: Rome\n\nOrder 8: shut\nTotal: 2\nCity: Oslo\n", ("heading", "Total", "City"), [["Order 7: open", "1", "Rome"], ["Order 8: shut", "2", "Oslo"]]),
        ("[web]\nport=80\nhost=a\n\n[db]\nport=5432\nhost=b\n", ("heading", "port", "host"), [["web", "80", "a"], ["db", "5432", "b"]]),
        ("- name: ann\n  tags:\n  - x\n  - y\n- name: bob\n  tags: []\n", ("name", "tags"), [["ann", ["x", "y"]], ["bob", []]]),
        ("ann:\n  age: 3\n  city: Rome\nbob:\n  age: 4\n  city: Oslo\n", ("key", "age", "city"), [["ann", "3", "Rome"], ["bob", "4", "Oslo"]]),
        ("HOME=/srv\nLANG=C\nEMPTY=\n", ("key", "value"), [["HOME", "/srv"], ["LANG", "C"], ["EMPTY", None]]),
        ("NAME    READY   STATUS\nweb-1   1/1     Running\ndb-0    0/1     Pending\n", ("NAME", "READY", "STATUS"), [["web-1", "1/1", "Running"], ["db-0", "0/1", "Pending"]]),
        ("CONTAINER ID   IMAGE     NAMES\n0123456789ab   nginx:1   web\nba9876543210   pg:15     db\n", ("CONTAINER ID", "IMAGE", "NAMES"), [["0123456789ab", "nginx:1", "web"], ["ba9876543210", "pg:15", "db"]]),
        ("Filesystem Size Used Mounted on\n/dev/vda 12G 3G /\ntmpfs 1G 0 /tmp\n", ("Filesystem", "Size", "Used", "Mounted on"), [["/dev/vda", "12G", "3G", "/"], ["tmpfs", "1G", "0", "/tmp"]]),
        ("USER PID %CPU COMMAND\nroot 1 0.0 /sbin/init splash\nann 7 9.5 vi x\n", ("USER", "PID", "%CPU", "COMMAND"), [["root", "1", "0.0", "/sbin/init splash"], ["ann", "7", "9.5", "vi x"]]),
        ("total 8\n-rw-r--r-- 1 ann staff 12 Mar  4 10:00 a b.txt\ndrwxr-xr-x 2 ann staff 4096 Mar  4 2025 src\n", ("mode", "links", "owner", "group", "size", "modified", "name"), [["-rw-r--r--", "1", "ann", "staff", "12", "Mar  4 10:00", "a b.txt"], ["drwxr-xr-x", "2", "ann", "staff", "4096", "Mar  4 2025", "src"]]),
        ("2026-01-31 12:00:00,123 - app.orders - ERROR - no such order\n  at x\n2026-01-31 12:00:01,5 - app - INFO - ok\n", LOG, [[1, "2026-01-31 12:00:00.123", "ERROR", "app.orders", "no such order"], [2, None, None, None, "  at x"], [3, "2026-01-31 12:00:01.5", "INFO", "app", "ok"]]),
        ("2026-01-31T12:00:00Z ERROR [main] died\n2026/01/31 12:00:01 WARN slow\n", LOG, [[1, "2026-01-31 12:00:00Z", "ERROR", "main", "died"], [2, "2026-01-31 12:00:01", "WARN", None, "slow"]]),
        ("Oct 10 13:55:36 web sshd[7]: Accepted\nOct  9 13:55:37 web cron: ran\n", LOG, [[1, "10-10 13:55:36", None, "sshd[7]", "Accepted"], [2, "10-09 13:55:37", None, "cron", "ran"]]),
        ('10.0.0.1 - ann [10/Oct/2026:13:55:36 +0000] "GET /" 200 7\n10.0.0.2 - - [11/Oct/2026:00:00:00 +0000] "GET /" 500 7\n', LOG, [[1, "2026-10-10 13:55:36+00:00", None, "10.0.0.1", '"GET /" 200 7'], [2, "2026-10-11 00:00:00+00:00", None, "10.0.0.2", '"GET /" 500 7']]),
        ('time=2026-01-31T12:00:00Z level=info msg="up now" port=80\nts=2026-01-31T12:00:01Z level=error logger=db msg=down\n', LOG, [[1, "2026-01-31 12:00:00Z", "INFO", None, "up now port=80"], [2, "2026-01-31 12:00:01Z", "ERROR", "db", "down"]]),
        ("+----+---------+------+\n| id | pattern | hits |\n+----+---------+------+\n|  1 | foo|bar |    5 |\n|  2 | NULL    |    6 |\n+----+---------+------+\n", ("id", "pattern", "hits"), [["1", "foo|bar", "5"], ["2", None, "6"]]),
        (" id | pattern | n \n----+---------+---\n  1 | foo|bar | 5\n  2 |         | 6\n(2 rows)\n", ("id", "pattern", "n"), [["1", "foo|bar", "5"], ["2", None, "6"]]),
        ("╒══════╤═════╕\n│ id   │  n  │\n╞══════╪═════╡\n│ 1    │  5  │\n├──────┼─────┤\n│ 2    │  6  │\n╘══════╧═════╛\n", ("id", "n"), [["1", "5"], ["2", "6"]]),
        ("┏━━━━┳━━━┓\n┃ id ┃ n ┃\n┡━━━━╇━━━┩\n│ 1  │ 5 │\n│ 2  │ 6 │\n└────┴───┘\n", ("id", "n"), [["1", "5"], ["2", "6"]]),
        ("| a | b |\n|---|---|\n| 1 |  |\n| 2 | x | y |\n", ("a", "b"), [["1", None], ["2", "x | y"]]),
        ("id name\n-- ----\n1  NULL\n2  bob\n", ("id", "name"), [["1", None], ["2", "bob"]]),
        ("Dear Ann,\n\nall is well.", ("line", "text"), [[1, "Dear Ann,"], [2, ""], [3, "all is well."]]),
    ],
)  # fmt: skip
def test_forms(text: str, columns: tuple[str, ...], rows: list[list[Any]]) -> None:
    """Each form has its names and its cells; ids keep their zeros, what is missing is None."""
    assert (columns, rows) == rows_of(text)


@for_each(
    "text, columns, rows",
    [
        ("       n   mean\ncity           \nOslo  42 -41.96\nRome  15   1.00\n", ("city", "n", "mean"), [["Oslo", "42", "-41.96"], ["Rome", "15", "1.00"]]),
        ("           mean\ncity day       \nOslo 1     9.50\n     2   -93.42\nRome 1     1.00\n     2      NaN\n", ("city", "day", "mean"), [["Oslo", "1", "9.50"], ["Oslo", "2", "-93.42"], ["Rome", "1", "1.00"], ["Rome", "2", "NaN"]]),
        ("year      2023  2024\ncity day            \nOslo 1    38.0   NaN\n     2     NaN   4.0\n", ("city", "day", "2023", "2024"), [["Oslo", "1", "38.0", "NaN"], ["Oslo", "2", "NaN", "4.0"]]),
        ("year  2023  2024\ncity            \nOslo  38.0   4.0\nRome   8.0   7.0\n", ("city", "2023", "2024"), [["Oslo", "38.0", "4.0"], ["Rome", "8.0", "7.0"]]),
        ("     v  w\ng        \n-3   1  5\n 7  22  6\n", ("g", "v", "w"), [["-3", "1", "5"], ["7", "22", "6"]]),
        ("        v  w\nr           \nnorth  10  4\n        5  2\n", ("r", "v", "w"), [["north", "10", "4"], [None, "5", "2"]]),
    ],
)  # fmt: skip
def test_named_index_of_a_printed_frame(
    text: str, columns: tuple[str, ...], rows: list[list[Any]]
) -> None:
    """The names of a DataFrame's index, in a line of their own, are columns, not a row; a name of the index that is left out is the one above."""
    assert (columns, rows) == rows_of(text)


def test_two_words_far_above_other_lines_are_no_names() -> None:
    """A block of a single line, which ends before what may be cut, names nothing."""
    text = "x  y\n\n\nab  cd\n" + "word word\n" * 500
    assert ("line", "text") == table_of(text).columns


@for_each(
    "names, line",
    [
        ("order_id,created_at,total", "{0},2026-01-01 12:00:{0:02},{0}.5"),
        ("time,latency_ms", "2026-01-01T12:00:{0:02}Z,{0}"),
        ("time;host", "2026-01-01 12:00:{0:02};h{0}"),
        ("time\tn", "2026-01-01 12:00:{0:02}\t{0}"),
        ("ticket,severity,hours", "{0},ERROR,{0}"),
        ("Found 9:\nid,at", '{0},"2026-01-01 12:00:{0:02}"'),
    ],
)
def test_times_and_levels_in_a_table(names: str, line: str) -> None:
    """A table with times or levels in its cells is a table and not a log: it has names above them."""
    text = "\n".join([names, *map(line.format, range(9))])
    columns, rows = rows_of(text)
    assert columns == tuple(re.split("[,;\t]", names.rpartition("\n")[2]))
    assert len(rows) == 9


@for_each("first", ["Log started, version 2", "starting", ""])
def test_a_log_with_a_comma_in_each_line(first: str) -> None:
    """A log is a log although a comma before its milliseconds divides each line in two."""
    lines = [f"2026-01-01 12:00:{number:02},123 INFO worker {number} ok" for number in range(9)]
    columns, _ = rows_of("\n".join([first, *lines]))
    assert columns == LOG


@for_each(
    "text",
    [
        "┌───────┬─────────┐\n│  id   │  name   │\n│ int64 │ varchar │\n├───────┼─────────┤\n│     1 │ a       │\n│     2 │ b       │\n├───────┴─────────┤\n│ 2 rows          │\n└─────────────────┘\n",
        "shape: (2, 2)\n┌─────┬──────┐\n│ id  ┆ name │\n│ --- ┆ ---  │\n│ i64 ┆ str  │\n╞═════╪══════╡\n│ 1   ┆ a    │\n│ 2   ┆ b    │\n└─────┴──────┘\n",
        "+----+------+\n| id | name |\n\n+----+------+\n| 1  | a    |\n| 2  | b    |\n+----+------+\n",
    ],
)  # fmt: skip
def test_types_are_no_row(text: str) -> None:
    """The types that DuckDB and polars write below the names, a blank line there, and the foot of a frame, are not rows."""
    assert (("id", "name"), [["1", "a"], ["2", "b"]]) == rows_of(text)


@for_each(
    "text",
    [
        "┌────┬───┐\n│ id │ n │\n├────┼───┤\n│  1 │ 5 │\n│  · │ · │\n│ 99 │ 8 │\n└────┴───┘\n",
        "| id | n |\n|---|---|\n| 1 | 5 |\n| ... | ... |\n| 9 | 7 |\n",
        "| id | n |\n|---|---|\n| 1 | 5 |\n\n| id | m |\n|---|---|\n| 1 | 7 |\n",
        "# A\n\n| id | n |\n|---|---|\n| 1 | 5 |\n\n# B\n\n| id | n |\n|---|---|\n| 2 | 7 |\n",
        "+----+---+\n| my | n |\n| id |   |\n+====+===+\n|  1 | 5 |\n+----+---+\n|  2 | 6 |\n+----+---+\n",
        'id,note\n1,a\n2,b\n3,"open\n4,c\n5,d\n',
        'id\tnote\n1\ta\n2\tb\n3\t"open\n4\tc\n5\t"again\n6\td\n',
    ],
)  # fmt: skip
def test_what_is_not_all_rows_is_lines(text: str) -> None:
    """A table that leaves rows out, wraps its names or opens a quotation that nothing closes, and several tables, have their lines only: rows would be wrong or missing."""
    columns, _ = rows_of(text)
    assert columns == ("line", "text")


@for_each(
    "text",
    [
        "id,name\n1,ann\n2,bob\nid,name\n3,cem\n",
        "id;name\n" + "1;ann\n" * 5000 + "id;name\n2;bob\n",
        '"id"\t"name"\n1\tann\nid\tname\n3\tcem\n',
        "id,name\n1,ann\n2,bob\n\nid,city\n1,Rome\n2,Oslo\n",
        "id,name\r\n1,ann\r\n\r\norder,city\r\n1,Rome\r\n",
        "==> a.csv <==\n\nid,name\n1,ann\n\n==> b.csv <==\nid,name\n2,bob\n",
        "name,land\nann,Peru\n\nname,city\nann,Rome\n",
        "id,name\n1,ann\n\ncity,land\nRome,Italy\nOslo,Norway\n",
        "id,name\n" + "1,ann\n" * 5000 + "\norder,city\n1,Rome\n",
        "a | b | c\n1 | 2 | 3\na | b | c\n7 | 8 | 9\n",
        "NAME    READY   STATUS\nweb-1   1/1     Running\nNAME    READY   STATUS\nweb-1   0/1     Pending\n",
    ],
)  # fmt: skip
def test_several_tables_are_lines(text: str) -> None:
    """A text with the names of a table again, or with those of another behind a blank line, has only its lines."""
    columns, rows = rows_of(text)
    assert columns == ("line", "text")
    assert text.splitlines() == [line for _, line in rows]
    assert f"{len(rows):,} lines" in describe(text)


@for_each(
    "text, rows",
    [
        ("id,name\n\n1,ann\n\n2,bob\n", [["1", "ann"], ["2", "bob"]]),
        ("item,n\ntea,3\n\nrum,n/a\ngin,4\n", [["tea", "3"], ["rum", "n/a"], ["gin", "4"]]),
        ("name,city\nann,Rome\n\nbob,Oslo\n", [["ann", "Rome"], ["bob", "Oslo"]]),
        ("web,up\nlb,up\n\ndb,up\n", [["web", "up"], ["lb", "up"], ["db", "up"]]),
        ("1,5\n2,6\n\n1,5\n", [["1", "5"], ["2", "6"], ["1", "5"]]),
        ('id,note\n1,"x\n\nid,note"\n2,y\n', [["1", "x\n\nid,note"], ["2", "y"]]),
        ("id,a,b\n1,x,y\n,,\n2,z,w\n", [["1", "x", "y"], [None, None, None], ["2", "z", "w"]]),
        ('id\tnote\n1\t"x\n \ny"\n\t\n2\tz\n', [["1", "x\n \ny"], ["2", "z"]]),
    ],
)
def test_blank_lines_between_rows(text: str, rows: list[list[str | None]]) -> None:
    """Blank lines between the rows of one table are left out, and those within a cell belong to it."""
    assert rows == rows_of(text)[1]


@pytest.mark.long
@for_each(
    "form", ["csv", "tsv", "markdown", "json", "wrapped", "json lines", "repr", "blocks", "psql", "introduced"]
)  # fmt: skip
def test_descriptions_agree(form: str) -> None:
    """The description says how many rows there are, also behind the lines that it looks at closely."""
    shop = [{"id": f"{n:04d}", "city": "Rome", "note": f"note {n}"} for n in range(700)]
    text = FORMS[form](shop)
    assert 700 == len(rows_of(text)[1])
    assert re.search(r"\b700\b", describe(text)), describe(text)


CELL = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=12)


@given(st.lists(st.tuples(CELL, CELL, CELL), min_size=2, max_size=8))
def test_what_is_written_is_read(cells: list[tuple[str, str, str]]) -> None:
    """Cells of any characters come back from CSV, JSON and JSON lines."""
    names = ("first", "second", "third")
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerows([names, *cells])
    records = [dict(zip(names, row, strict=True)) for row in cells]
    for text in (written.getvalue(), json.dumps(records), "\n".join(map(json.dumps, records))):
        assert (names, [list(row) for row in cells]) == rows_of(text)


@given(st.text(max_size=300))
def test_any_text(text: str) -> None:
    """Of every text but an empty one there are rows, each as wide as the names; or a row of it is damaged."""
    try:
        columns, rows = rows_of(text)
    except InvalidSelectionError:
        return
    assert all(len(columns) == len(row) for row in rows)
    assert len(columns) == len({name.lower() for name in columns})


@pytest.mark.long
@for_each(
    "text",
    [
        *("," * 1_000_000, "x" * 5_000_000, "[" * 100_000, "a: " * 300_000, "|" * 500_000),
        *("- " * 500_000, "=" * 500_000, " " * 500_000 + "x", "2026-01-31 " * 50_000, "a:\n" * 100_000),
        *("[a" + ".a" * 200_000 + "(1)]", "x" + " " * 500_000 + ":", "[F" + "(1)" * 100_000 + "]"),
    ],
)  # fmt: skip
def test_odd_texts_end(text: str) -> None:
    """A text that is made to be slow has rows, or a clear error, soon."""
    try:
        table = table_of(text)
    except InvalidSelectionError:
        return
    assert next(table.rows())


def test_forms_of_one_table() -> None:
    """One table gives the same names and cells in every form that writes all of it as text."""
    expected = [[str(cell) for cell in row.values()] for row in SHOP]
    for form, write in FORMS.items():
        columns, rows = rows_of(write(SHOP))
        assert ("id", "city", "n") == columns, form
        assert expected == [[str(cell) for cell in row] for row in rows], form


@pytest.mark.parametrize("form", first_quick(["ps", "log"]))
def test_rows_of_a_large_text(form: str) -> None:
    """Rows come one at a time, as often as they are asked for."""
    lines = [f"2026-01-31 12:00:{n % 60:02d} INFO step {n}" for n in range(50_000)]
    if form == "ps":
        lines = ["USER PID COMMAND", *(f"ann {n} run {n}" for n in range(50_000))]
    table = table_of("\n".join(lines))
    for _ in range(2):
        assert 50_000 == sum(1 for _ in table.rows())


@for_each(
    "text, columns",
    [
        ("region,2023,2024\nNorth,5,6\nSouth,1,2", ("region", "2023", "2024")),
        ("site,2023-01,2023-02,Total\nNorth,5,6,11", ("site", "2023-01", "2023-02", "Total")),
        (",2023-01,2023-02\nNorth,5,6", ("column1", "2023-01", "2023-02")),
        ("host\t0\t1\t2\t3\nweb\t4\t5\t0\t7", ("host", "0", "1", "2", "3")),
        ("name;day;1;2;3;4\nann;Mo;7;8;9;9", ("name", "day", "1", "2", "3", "4")),
        ("host,1m,5m,15m\nweb,4,5,7\ndb,1,2,3", ("host", "1m", "5m", "15m")),
        ("node;50%;99%\nweb;9;18\ndb;7;10", ("node", "50%", "99%")),
        ("ann,2019,2022\nbob,2020,2024", None),
        ("ann,1,2\nbob,5,6", None),
        ("ann,2024,2019\nbob,5,6", None),
        ("2023,2024\n5,6", None),
        ("City Museum; opens 9:00; entry 4 euros\nToy Museum; opens 10:30; entry 12 euros", None),
        ("web-1,up 3 days\nweb-2,up 12 days\ndb-1,stopped", None),
        ("web,-,-\ndb,5,6\nlb,7,8", None),
        ("web,12h,3%\ndb,4d,8%\nlb,1d,9%", None),
        ("5 EUR;coffee;Rome\n12 EUR;tea;Oslo", None),
        ("3 Nov 2025|paid|Rome\n14 Dec 2025|open|Oslo", None),
        ("room 12 | 2 beds | free\nroom 14 | 1 bed | taken\nroom 7 | 1 bed | free", None),
        ("node1,node2,weight\nnode3,node14,5\nnode5,node16,7", ("node1", "node2", "weight")),
        ("name,q1,q2\nann,up 3,up 4\nbob,up 1,up 2", ("name", "q1", "q2")),
        ("step 1,step 2\nask Ann,ask Bob", ("step 1", "step 2")),
        ("zoe|admin|up\nbob|user|up\ncy|user|off\ndi|user|up", None),
        ("table,name,type\nusers,name,text\nusers,city,text\nusers,mail,text\nusers,land,text\nlogs,name,text", ("table", "name", "type")),
    ],
)  # fmt: skip
def test_numbers_as_names(text: str, columns: tuple[str, ...] | None) -> None:
    """Years, dates and hours name the columns of a pivot; a row like those below is one of them, and counted."""
    lines = text.splitlines()
    numbered = tuple(f"column{number}" for number in range(1, len(rows_of(text)[0]) + 1))
    assert (columns or numbered) == rows_of(text)[0]
    assert f" {len(lines) - bool(columns)} row" in describe(text)
    assert all(cell == cell.strip() for row in rows_of(text)[1] for cell in row)


@for_each(
    "text, columns, cell",
    [
        ("2026-01-31 12:00:00,000 INFO a: ok\r\n2026-01-31 12:00:01,000 ERROR a: bad\r\n", LOG, "bad"),
        ("Dear Ann,\r\n\r\nbad\r\n", ("line", "text"), "bad"),
        ("name: ann\r\nage: 3\r\n\r\nname: bob\r\nage: bad\r\n", ("name", "age"), "bad"),
        ("a,b\r\n1,x\r\n2,bad\r\n", ("a", "b"), "bad"),
        ('\ufeff[{"a": 1},\r\n {"a": "bad"}]', ("a",), "bad"),
    ],
)  # fmt: skip
def test_line_ends_of_windows(text: str, columns: tuple[str, ...], cell: str) -> None:
    """A carriage return before a line feed, and a byte order mark, belong to no cell."""
    assert columns == rows_of(text)[0]
    assert cell == rows_of(text)[1][-1][-1]
