"""Numbers as people write them, in SQL over texts: read as numbers, or refused; never added or compared as texts."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from string import ascii_lowercase
from typing import Any

import pytest

from for_each import for_each
from growth import assert_linear
from memory_context import MemoryManager
from memory_context.exceptions import InvalidQueryError, InvalidSelectionError
from memory_context.text.query.dates_and_times import moment
from memory_context.text.query.number_notations_and_missing_values import notation_of
from memory_context.text.query.preview_of_table_columns import table_line
from memory_context.text.read.jsonpath import found_values
from memory_context.text.tokens.counter import default_counter

MONEY = 'name,amount\nA,"$1,200.50"\nB,$300.00\nC,$5.00\n'
GERMAN = "id;kunde;betrag;gewicht\n1;Müller;1.234,50;1.234\n2;Öz;99,90;2.500\n3;Weiß;12,00;3.125"
THOUSANDS = 'name,amount\na,"1,200"\nb,"12,000"\nc,30\n'
TRUTHS = "id,ok\n1,true\n2,false\n3,True\n4,\n"
PODS = (
    "NAME    STATUS             RESTARTS       AGE\n"
    "web-1   Running            0              3d\n"
    "web-2   CrashLoopBackOff   12 (3m ago)    3d\n"
)
RESTARTED = f"{PODS}web-3   Running            9 (1h ago)     3d\n"
DOUBTFUL = 'name,amount\na,"1,200"\nb,"1,5"\n'
MIXED = "name,amount\na,5\nb,unknown\nc,10\n"
LATE = "name,amount\n" + "a,900\n" * 1500 + 'b,"1,200"\n'


def _memory(text: str) -> MemoryManager:
    memory = MemoryManager("sqlite://", user_id="ann")
    memory.store(text, key="t")
    return memory


@for_each(
    "text, sql, expected",
    [
        (MONEY, "SELECT sum(amount), max(amount) FROM t", [(1505.5, 1200.5)]),
        (MONEY, "SELECT name FROM t WHERE amount > 250 ORDER BY amount DESC", [("A",), ("B",)]),
        (MONEY, "SELECT sum(CAST(replace(replace(amount, '$', ''), ',', '') AS REAL)) FROM t", [(1505.5,)]),
        (GERMAN, "SELECT sum(betrag) FROM t WHERE betrag > 50", [(1334.4,)]),
        (THOUSANDS, "SELECT sum(amount), max(amount) FROM t", [(13230, 12000)]),
        (LATE, "SELECT max(amount), count(amount) FROM t", [(1200, 1501)]),
        ("a,b\n" + "x,\n" * 1500 + "y,7\nz,12", "SELECT max(b) FROM t", [(12,)]),
        ("name,share\nA,45%\nB,5.5%\nC,n/a", "SELECT max(share), count(share) FROM t", [(45, 2)]),
        ("n,x\na,EUR -3\nb,EUR 10\nc,EUR +1", "SELECT sum(x) FROM t", [(8,)]),
        ("n,x\na,-5 €\nb,7 €", "SELECT sum(x) FROM t", [(2,)]),
        (TRUTHS, "SELECT count(*), sum(ok) FROM t WHERE ok", [(2, 2)]),
        (TRUTHS, "SELECT id FROM t WHERE ok = TRUE", [(1,), (3,)]),
        (PODS, "SELECT name FROM t WHERE CAST(restarts AS REAL) > 0", [("web-2",)]),
        (PODS, "SELECT max(name), min(status) FROM t", [("web-2", "CrashLoopBackOff")]),
        (DOUBTFUL, "SELECT sum(CAST(replace(amount, ',', '.') AS REAL)) FROM t", [(2.7,)]),
        (MIXED, "SELECT sum(CASE WHEN amount GLOB '*[0-9]*' THEN CAST(amount AS REAL) END) FROM t", [(15,)]),
        (MIXED, "SELECT sum(CASE WHEN name <> 'b' THEN amount END) FROM t", [(15,)]),
        (MIXED, "SELECT sum(CAST(amount AS REAL)), avg(CAST(amount AS REAL)) FROM t", [(15, 7.5)]),
        (MIXED, "SELECT name FROM t WHERE amount = 'unknown'", [("b",)]),
        ("n,t\na,1.234\nb,1.5", "SELECT sum(t) FROM t", [(2.734,)]),
        ("n,x\na,42名\nb,7名\nc,-", "SELECT sum(x), max(x), count(x) FROM t", [(49, 42, 2)]),
        ('n,x\na,"1,297元"\nb,35.50元', "SELECT n FROM t WHERE x > 100", [("a",)]),
        ("n,x\na,12.50 шт.\nb,5 шт.", "SELECT sum(x) FROM t", [(17.5,)]),
    ],
)  # fmt: skip
def test_notations(text: str, sql: str, expected: list[Any]) -> None:
    """A column of which every filled cell is a number in one notation is a column of numbers."""
    assert expected == [tuple(row) for row in _memory(text).query(sql)]


@for_each(
    "cells",
    [
        ["1,200", "1,5"],
        ["$5", "€5"],
        ["5%", "0.05"],
        ["€1.234"],
        ["1.234-", "7"],
        ["192.168.100.200"],
        ["007", "12"],
        ["+4930123456"],
        ["2026-01-02"],
        ["1.2.3"],
        ["1,23,456"],
        ["true", "maybe"],
        ["12345678901234567890"],
        ["5\n6"],
        ["-", ""],
        ["USD"],
        ["12\u0410", "14\u0410"],
        ["5½", "6½"],
        ["5万", "3000"],
    ],
)
def test_no_guesses(cells: list[str]) -> None:
    """Cells that may be read in two ways, or are ids, dates, versions, addresses and phones, stay texts."""
    assert notation_of(cells) is None


@for_each("cell", ["1" * 300_000, "1-" * 150_000, "1" * 300_000 + "--"])
def test_long_cells(cell: str) -> None:
    """A cell of hundreds of thousands of digits is not read again from each of them, and stays a text."""
    assert notation_of([cell]) is None


@for_each(
    "text, sql, told",
    [
        (PODS, "SELECT name FROM t WHERE restarts > 0", r"RESTARTS .*'12 \(3m ago\)'.*CAST\(RESTARTS AS REAL\)"),
        (PODS, "SELECT sum(restarts) FROM t", r"'12 \(3m ago\)'"),
        (RESTARTED, "SELECT max(restarts) FROM t", r"quantities, .*CAST\(RESTARTS AS REAL\).*RESTARTS \|\| ''"),
        (DOUBTFUL, "SELECT avg(amount) FROM t", r"amount .*'1,200': write CAST\(amount AS REAL\).* or an expression"),
        (DOUBTFUL, "SELECT total(amount) FROM t", "amount .*'1,200'"),
        (DOUBTFUL, "SELECT sum(CAST(amount AS REAL)) FROM t", "CAST would take '1,200' in amount for another"),
        (GERMAN, "SELECT sum(gewicht) FROM t", r"gewicht .*'1\.234'.*3\.10 is 3\.1"),
        ("n,x\na,$5\nb,€7", "SELECT sum(x) FROM t", r"x .*'\$5'"),
        (MIXED, "SELECT name FROM t WHERE amount BETWEEN 1 AND 7", "'unknown'"),
        (MIXED, "SELECT name FROM t WHERE amount IN (5, 10)", "'unknown'"),
        (MIXED, "SELECT name FROM t WHERE amount > (SELECT count(*) FROM t)", "'unknown'"),
        (MIXED, "SELECT name FROM t WHERE NOT amount", "'unknown'"),
        (MIXED, "SELECT name FROM t WHERE amount IS TRUE", "'unknown'"),
        (MIXED, "SELECT amount * 2 FROM t", "'unknown'"),
        (MIXED, "SELECT sum(CASE WHEN name <> 'a' THEN amount END) FROM t", "'unknown'"),
        (MIXED, "SELECT sum(amount) OVER (ORDER BY name) FROM t", "'unknown'"),
        (MIXED, "WITH s AS (SELECT amount AS x FROM t) SELECT sum(x) FROM s", "amount .*'unknown'"),
        (MIXED, "WITH s(x, y) AS (SELECT * FROM (SELECT amount, name FROM t)) SELECT sum(x) FROM s", "'unknown'"),
        (MIXED, "SELECT max(s.x) FROM (SELECT 1 AS x UNION ALL SELECT amount FROM t) s", "'unknown'"),
        (MIXED, "SELECT name, amount AS x FROM t WHERE x > 6", "'unknown'"),
        ("n,x\na,5ms\nb,12ms", "SELECT max(x) FROM t", "quantities, .*'12ms' would come before '5ms'"),
        ("n,x\na,$900\nb,$1.2K", "SELECT max(x) FROM t", "'\\$1.2K' would come before '\\$900'"),
        ("n,x\na,5 шт\nb,12 шт.", "SELECT max(x) FROM t", "'12 шт.' would come before '5 шт'"),
        ("n,x\na,5\nb,12", "SELECT max(x || 'ms') FROM t", "'12ms' would come before '5ms'"),
        ("y,m\n2025,9\n2025,10", "SELECT max(y || '-' || m) FROM t", "'2025-10' would come before '2025-9'"),
        ("n,x\na,0\nb,900\nc,3M", "SELECT max(CAST(x AS REAL)) FROM t", "'900' and '3M' in x"),
        ("n,x\na,~9\nb,~10", "SELECT n FROM t ORDER BY x", "'~10' would come before '~9'"),
        ("n,x\na,2e2\nb,1e3", "SELECT n FROM t ORDER BY x", "'1e3' would come before '2e2'"),
        ("n,x\na,1E-5\nb,1E-3\nc,1E2", "SELECT max(x) FROM t", "'1E-3' would come before '1E-5'"),
        ("n,x\na,5°C\nb,10°C", "SELECT n FROM t ORDER BY x", "'10°C' would come before '5°C'"),
        ("n,x\na,9+\nb,10+", "SELECT max(x) FROM t", "'10.' would come before '9.'"),
        ("n,x\na,<1\nb,5\nc,>100", "SELECT max(x) FROM t", "'5' would come before '<1'"),
        ("n,x\na,900Mi\nb,2Gi", "SELECT n FROM t ORDER BY x", "'2Gi' would come before '900Mi'"),
        ("n,x\na,900Mi\nb,2Gi", "SELECT max(CAST(x AS REAL)) FROM t", "'900Mi' and '2Gi'"),
        ("a,b\n1,x\n2,7", "SELECT a FROM t WHERE b > a", "b .*'x'"),
        ("id,n\n007,1\n7,2", "SELECT n FROM t WHERE id = 7", "compare it with a text, as '007'"),
    ],
)  # fmt: skip
@pytest.mark.long
def test_texts_are_not_numbers(text: str, sql: str, told: str) -> None:
    """Texts that are added, or compared with a number, are an error that names a cell and what to write instead."""
    with pytest.raises(InvalidQueryError, match=told):
        _memory(text).query(sql)


@for_each(
    "text, sql, told",
    [
        (TRUTHS, "SELECT id FROM t WHERE ok = 'true'", "true 1, false 0.*with 1, not with 'true'"),
        (TRUTHS, "SELECT sum(CASE ok WHEN 'true' THEN 1 END) FROM t", "with 1, not with 'true'"),
        (TRUTHS, "SELECT id FROM t WHERE lower(ok) = 'true'", "with 1, not with 'true'"),
        (MONEY, "SELECT name FROM t WHERE amount = '$300.00'", r"number in \$.*300\.00, not with"),
        (MONEY, "SELECT name FROM t WHERE amount LIKE '$3%'", "use it as it is"),
        (
            GERMAN,
            "SELECT sum(replace(replace(betrag, '.', ''), ',', '.')) FROM t",
            "use it as it is",
        ),
    ],
)
def test_numbers_are_not_texts(text: str, sql: str, told: str) -> None:
    """A column that is read as numbers is not looked into for what its cells were written with."""
    with pytest.raises(InvalidQueryError, match=told):
        _memory(text).query(sql)


IDS = {"a": "id,n\n1,x\n2,y\n10,z", "b": "id,n\n01,x\n02,y", "c": '[{"id": "10"}, {"id": "x1"}]'}
BOTH = "(SELECT id FROM a UNION ALL SELECT id FROM b)"


@for_each(
    "sql, expected",
    [
        ("SELECT id FROM a EXCEPT SELECT id FROM b", None),
        ("SELECT id FROM a INTERSECT SELECT id FROM c", None),
        ("SELECT * FROM b UNION SELECT * FROM a", None),
        (f"SELECT id FROM {BOTH} GROUP BY id", None),
        (f"SELECT id, count(*) FROM {BOTH} GROUP BY 1", None),
        (f"SELECT DISTINCT id FROM {BOTH}", None),
        (f"SELECT count(DISTINCT id) FROM {BOTH}", None),
        (f"SELECT count(*) OVER (PARTITION BY id) FROM {BOTH}", None),
        ("SELECT id FROM a EXCEPT SELECT CAST(id AS REAL) FROM b", [10]),
        ("SELECT CAST(id AS TEXT) FROM a INTERSECT SELECT id FROM c", ["10"]),
        ("SELECT id FROM b UNION SELECT id FROM c WHERE id = '10'", ["01", "02", "10"]),
        ("SELECT id FROM b UNION ALL SELECT id FROM a WHERE n = 'z'", ["01", "02", 10]),
        ("SELECT id FROM a WHERE n = 'z' UNION SELECT 'all'", [10, "all"]),
        ("SELECT id FROM b UNION SELECT count(*) FROM a", [3, "01", "02"]),
    ],
)
def test_ids_as_texts_and_numbers(sql: str, expected: list[Any] | None) -> None:
    """Where equal values become one, numbers beside texts of numbers are an error: SQLite finds none equal."""
    memory = MemoryManager("sqlite://", user_id="ann")
    for key, text in IDS.items():
        memory.store(text, key=key)
    if expected is None:
        with pytest.raises(
            InvalidQueryError, match=r"equal no number here: write CAST\(.*\.\"id\" AS"
        ):
            memory.query(sql)
    else:
        assert expected == [value for (value,) in memory.query(sql)]


def test_partial_reads() -> None:
    """The short form shows the numbers that a query gives, and refuses the same."""
    shown = _memory(MONEY).retrieve("t", where="amount > 250")
    assert "name,amount\nA,1200.5\nB,300.0" == shown
    with pytest.raises(InvalidSelectionError, match=r"'12 \(3m ago\)'"):
        _memory(PODS).retrieve("t", where="restarts > 0")


def test_preview() -> None:
    """The line about a table says how its columns are read."""
    memory = _memory("n,big,price,share,ok,x\n" + 'a,"1,200",$1.50,5%,true,3d\n' * 40)
    line = table_line(memory.get("t").text, memory.counter, 1000)
    assert "big number, price number in $, share number in %, ok number (true 1, false 0)" in line


def test_preview_of_nested_json() -> None:
    """The line gives the path of the table, and shows a long object by its members, which a query must name."""
    deals = [{"id": n, "properties": {"amount": f"{n}00", "stage": "won" * 9}} for n in (7, 8)]
    issue = {"key": "ENG-1", "summary": "Charged twice", "changelog": {"histories": deals}}
    memory = _memory(json.dumps(issue))
    line = table_line(memory.get("t").text, memory.counter, 1000)
    columns = "Columns of $.changelog.histories: id number, properties text"
    assert f"{columns}. First row: 7, {{amount, stage}}" == line


@for_each("key", ["a.b", "b c", "my-items", "größe", 'a"b', "a: b", "a\nb\x1b\u2028c", " a", ""])
def test_preview_of_json_with_odd_keys(key: str) -> None:
    """The path of the table is on one line, and `path=` follows it."""
    rows = [{"id": 1, "name": "ann"}, {"id": 2, "name": "bob"}]
    text = json.dumps({"in": {key: rows}})
    line = table_line(text, default_counter(), 1000)
    path, _, _ = line.removeprefix("Columns of ").rpartition(": id number, name text.")
    assert line.isprintable()
    assert [rows] == found_values(text, path).values


@for_each(
    "text",
    [
        "shop:\n  items:\n  - id: 1\n    for: {a: 1}\n  - id: 2\n    for: {a: 2}\n",
        '[[shop.items]]\nid = 1\nfor = "a"\n[[shop.items]]\nid = 2\nfor = "b"\n',
        json.dumps({"shop" * 40: [{"id": 1, "for": "a"}, {"id": 2, "for": "b"}]}),
    ],
)
def test_preview_without_a_path(text: str) -> None:
    """A path of YAML or TOML, which `path=` does not read, is not given, nor one that is longer than 120 characters."""
    assert table_line(text, default_counter(), 1000).startswith("Columns: id number, for text")


@for_each(
    "cells, shown",
    [
        ([{"amount": 5}], '{"amount": 5}'),
        ([{"deal stage": "won" * 20, "a\x1bb": 1, "id": 2}], '{"deal stage", "a\\u001bb", id}'),
        ([None, {"amount": 5, "stage": "won"}], "{amount, stage}"),
        ([dict.fromkeys(ascii_lowercase, 1)], f"{{{', '.join(ascii_lowercase)}}}"),
        ([{"a" * 200: 1}], f"{{{'a' * 159}…"),
        (["so on " * 20], f"{'so on ' * 6}so o…"),
    ],
)
def test_preview_of_a_cell(cells: list[Any], shown: str) -> None:
    """An object is shown if it is short, else by the names of its members; what is cut ends in an ellipsis."""
    rows = [{"id": number, "cell": cell} for number, cell in enumerate([*cells, None])]
    line = table_line(json.dumps(rows), default_counter(), 1000)
    assert f"Columns: id number, cell text. First row: 0, {shown}" == line


def test_preview_of_a_text_without_rows() -> None:
    """Its lines are no table worth a line, which would say no more than that it has lines."""
    memory = _memory("shop/book.py:42: rate = 1\nshop/book.py:57: rate = 2\nA note.\n")
    assert "" == table_line(memory.get("t").text, memory.counter, 1000)
    memory = _memory("line,text\n3,rate = 1\n7,rate = 2\n")
    assert "Columns: line number, text text" in table_line(
        memory.get("t").text, memory.counter, 1000
    )


def test_too_many_queries_in_each_other() -> None:
    """A chain of a hundred WITH clauses and more is answered or refused, with an error of ours."""
    with MemoryManager("sqlite://", user_id="ann") as memory:
        key = memory.store("name,amount\nann,5\nbob,7\n")
        clauses = [f"c0 AS (SELECT amount FROM {key})"]
        clauses += [f"c{n} AS (SELECT amount FROM c{n - 1})" for n in range(1, 220)]
        with pytest.raises(InvalidQueryError):
            memory.query(f"WITH {', '.join(clauses)} SELECT amount FROM c219 WHERE amount > '3'")


@for_each(
    "text, sql, expected",
    [
        ("id,total\n1,125.00\n2,9.50\n3,7.00", "SELECT total / 2 FROM t", [(62.5,), (4.75,), (3.5,)]),
        ("id,total\n" + "1,2\n" * 1500 + "2,9.5", "SELECT min(total) / 4 FROM t", [(0.5,)]),
        ('[{"close": 5.0, "open": 4.0}]', "SELECT close / open FROM t", [(1.25,)]),
        ("n,x\na,$5\nb,$7", "SELECT x / 2 FROM t", [(2.5,), (3.5,)]),
        ("n,x\na,45%\nb,7%", "SELECT x / 2 FROM t", [(22.5,), (3.5,)]),
        ("n,x\na,5e-03\nb,7", "SELECT x / 2 FROM t", [(0.0025,), (3.5,)]),
        ("n;x\na;5,0\nb;7,0", "SELECT x / 2 FROM t", [(2.5,), (3.5,)]),
        ("n,x\na,5\nb,7", "SELECT x / 2 FROM t", [(2,), (3,)]),
        (TRUTHS, "SELECT ok FROM t WHERE ok", [(1,), (1,)]),
    ],
)  # fmt: skip
def test_divisions(text: str, sql: str, expected: list[Any]) -> None:
    """What has decimals or a unit in some row is divided with decimals in each; whole numbers as SQL does it."""
    assert expected == [tuple(row) for row in _memory(text).query(sql)]


@for_each(
    "text, sql, expected",
    [
        ("v,status\n3.9,ok\n3.10,failed\n3.11,ok", "SELECT v FROM t WHERE status = 'failed'", ["3.10"]),
        ('[{"v": "3.10"}, {"v": "3.9"}]', "SELECT v FROM t", ["3.10", "3.9"]),
        ("v,x\n" + "3.9,a\n" * 1500 + "3.10,b", "SELECT v FROM t WHERE x = 'b'", ["3.10"]),
        ("sku,n\n12E4,1\n13E5,2", "SELECT sku FROM t", ["12E4", "13E5"]),
        ("sku,x\n" + "12,a\n" * 1500 + "12E4,b", "SELECT sku FROM t WHERE x = 'b'", ["12E4"]),
        ("id,x\n1234567890123456789,a\n1.5,b", "SELECT id FROM t WHERE x = 'a'", ["1234567890123456789"]),
        ("id,x\n9007199254740993,a\n1.5,b", "SELECT id FROM t WHERE x = 'a'", ["9007199254740993"]),
        ("p,x\n12.50,a\n9,b\n1.20,c", "SELECT max(p) FROM t", [12.5]),
        ("p,x\n1.5E10,a\n1e-05,b\n0.5,c", "SELECT max(p) FROM t", [1.5e10]),
    ],
)  # fmt: skip
def test_digits_come_back(text: str, sql: str, expected: list[Any]) -> None:
    """A column stays text where a cell would not come back as it is written, unless all have as many decimals."""
    assert expected == [value for (value,) in _memory(text).query(sql)]


@for_each(
    "text, ids",
    [
        ("id,x\n9007199254740993,a\n900719925474099301,b", [9007199254740993, 900719925474099301]),
        ("id,x\n-9007199254740993,a\n7,b\nn/a,c", [-9007199254740993, 7, None]),
        ("id,x\n7,a\n12345678901234567890,b", ["7", "12345678901234567890"]),
        ('[{"id": 7}, {"id": 12345678901234567890}]', [7, "12345678901234567890"]),
    ],
)
def test_ids_keep_all_their_digits(text: str, ids: list[Any]) -> None:
    """Of a whole number no digit is lost, however long it is."""
    assert ids == [value for (value,) in _memory(text).query("SELECT id FROM t")]


DELETED = (
    "+----+---------------------+\n| id | deleted_at          |\n+----+---------------------+\n"
    "|  1 | NULL                |\n|  2 | 2026-01-03 10:00:00 |\n+----+---------------------+\n"
)


@for_each(
    "text, sql, expected",
    [
        (DELETED, "SELECT max(deleted_at), count(*) - count(deleted_at) FROM t", [("2026-01-03 10:00:00", 1)]),
        ("id,day\n1,\n2,2026-01-03", "SELECT min(day) FROM t WHERE id > 0", [("2026-01-03",)]),
        ("| id | day |\n|---|---|\n| 1 | |\n| 2 | 2026-01-03 |", "SELECT min(day) FROM t", [("2026-01-03",)]),
        ("id,day\n1,n/a\n2,2026-01-03\n3,NULL", "SELECT max(day), count(day) FROM t", [("2026-01-03", 1)]),
        ('[{"d": "2026-01-03"}, {"d": ""}]', "SELECT min(d) FROM t", [("2026-01-03",)]),
        ("id,note\n1,\n2,x\n3,-", "SELECT count(note), min(note) FROM t", [(2, "-")]),
        ("id,note\n1,\n2,x", "SELECT id FROM t WHERE note = '' OR note IS NULL", [(1,)]),
        ("id,note\n1,\n2,x", "SELECT id FROM t WHERE note <> ''", [(2,)]),
        ("id,note\n1,\n2,x", "SELECT id FROM t WHERE COALESCE(note, '') = ''", [(1,)]),
        ('[{"a": ""}, {"a": "x"}]', "SELECT count(*) FROM t WHERE a = ''", [(1,)]),
        ('[{"a": "y"}, {"a": "x"}]', "SELECT count(*) FROM t WHERE a = ''", [(0,)]),
    ],
)  # fmt: skip
def test_missing_cells(text: str, sql: str, expected: list[Any]) -> None:
    """An empty cell is NULL; so is what stands for no value among numbers and dates, and mysql's NULL."""
    assert expected == [tuple(row) for row in _memory(text).query(sql)]


@for_each(
    "text, where",
    [
        ("id,note\n1,\n2,x", "note = ''"),
        ("id,note\n1,\n2,x", "note IN ('x', '')"),
        ("id,n\n1,n/a\n2,3", "n = 'n/a'"),
        (DELETED, "CASE deleted_at WHEN 'NULL' THEN 1 END"),
    ],
)
def test_missing_cells_are_null(text: str, where: str) -> None:
    """Who looks for a text where the cells without a value are NULL is told so."""
    with pytest.raises(InvalidQueryError, match=r"write .* IS NULL"):
        _memory(text).query(f"SELECT count(*) FROM t WHERE {where}")


@pytest.mark.long
@for_each(
    "cells, total",
    [
        (["1,200.00", "(500.00)"], 700),
        (["100.00", "500.00-"], -400),
        (["$5", "$1,200", "$(4)"], 1201),
        (["($1,200.50)", "-$3", "$4"], -1199.5),
        (["1 234,50", "2 345,10"], 3579.6),
        (["1\u202f234.50", "2 345.10 "], 3579.6),
        (["€ 1 200", "€ 5-"], 1195),
        (["5%", "(4%)"], 1),
    ],
)
def test_notations_of_bookkeepers(cells: list[str], total: float) -> None:
    """Parentheses and a minus behind an amount are its sign, blanks part its thousands."""
    text = json.dumps([{"x": cell} for cell in cells])
    [[answer]] = _memory(text).query("SELECT round(sum(x), 2) FROM t")
    assert total == answer


@for_each(
    "cells, expression, total",
    [
        (["1 234", "2 345"], "CAST(replace(x, ' ', '') AS REAL)", 3579),
        (["5-", "6-"], "CASE WHEN x LIKE '%-' THEN -CAST(replace(x, '-', '') AS REAL) ELSE CAST(x AS REAL) END", -11),
        (["12", "(3)"], "CAST(replace(replace(x, '(', '-'), ')', '') AS REAL)", 9),
        (["$5", "€7"], "CAST(replace(x, '$', '') AS REAL)", None),
        (["1,200", "1,5"], "CAST(replace(x, ',', '') AS REAL)", 1215),
        (["1 234,50", "1 234.50"], "CAST(replace(x, ' ', '') AS REAL)", None),
        (["5-", "-6"], "CAST(x AS REAL)", None),
        (["(5)", "(6)"], "CAST(replace(x, '(', '') AS REAL)", None),
    ],
)  # fmt: skip
def test_numbers_that_an_expression_makes(
    cells: list[str], expression: str, total: float | None
) -> None:
    """An expression of the caller's own gives the right total; where it leaves more than a number, CAST is an error."""
    memory = _memory(json.dumps([{"x": cell} for cell in cells]))
    with pytest.raises(
        InvalidQueryError, match=r"x is used as numbers .*: write CAST\(x AS REAL\)"
    ):
        memory.query("SELECT sum(x) FROM t")
    if total is None:
        with pytest.raises(InvalidQueryError, match="CAST would take"):
            memory.query(f"SELECT sum({expression}) FROM t")
    else:
        [[answer]] = memory.query(f"SELECT sum({expression}) FROM t")
        assert total == answer


@for_each(
    "text, sql, told",
    [
        ("host,0,1,2,3\na,5,6,7,8", "SELECT sum(3) FROM t", 'double quotes: "3"'),
        ("host,2023,2024\na,5,6", "SELECT host, 2024 - 2023 FROM t", 'double quotes: "2024"'),
        (
            "v,x\n3.9,a\n3.10,b",
            "SELECT max(v) FROM t",
            "'3.10' would come before '3.9': .*3.10 is 3.1",
        ),
        (
            "v,x\n1.9.0,a\n1.10.0,b",
            "SELECT x FROM t ORDER BY v DESC",
            "'1.10.0' would come before '1.9.0'",
        ),
        (
            "r,x\n10-20,a\n5-9,b",
            "SELECT sum(CAST(r AS REAL)) FROM t",
            "'10-20' in r for another number",
        ),
    ],
)
def test_names_versions_and_ranges(text: str, sql: str, told: str) -> None:
    """Numbers that name columns, versions in the order of texts and halves of ranges are errors, not wrong answers."""
    with pytest.raises(InvalidQueryError, match=told):
        _memory(text).query(sql)


@for_each(
    "text, sql, expected",
    [
        (
            "host,0,1,2,3\na,5,6,7,8",
            'SELECT host FROM t WHERE "1" > 3 ORDER BY 1 LIMIT 1',
            [("a",)],
        ),
        ("host,2023,2024\na,5,6", 'SELECT sum("2024") * 2 FROM t', [(12,)]),
        ("city,n\nRome,1", "SELECT 'city' AS k, sum(n) FROM t WHERE city <> 'n'", [("city", 1)]),
        ("ip,x\n10.0.0.9,a\n10.0.0.10,b", "SELECT x FROM t ORDER BY ip", [("b",), ("a",)]),
        ("v,x\n1.8.0,a\n1.9.0,b", "SELECT max(v) FROM t", [("1.9.0",)]),
        ("s,x\n1.25 GB,a\n1.5 GB,b", "SELECT max(s) FROM t", [("1.5 GB",)]),
        ("s,x\n$9.25,a\n$9.5,b", "SELECT max(replace(s, '$', '')) FROM t", [("9.5",)]),
        ("n,ip\na,<none>\nb,7", "SELECT max(ip) FROM t", [(7,)]),
        ("n,r\na,NULL\nb,x", "SELECT n FROM t WHERE r IS NULL", [("a",)]),
        ("day,x\n2026-01-02,a", "SELECT CAST(day AS INTEGER) FROM t", [(2026,)]),
    ],
)
def test_other_names_and_orders(text: str, sql: str, expected: list[Any]) -> None:
    """Names in double quotes, addresses, versions that stand well and years of dates are answered."""
    assert expected == [tuple(row) for row in _memory(text).query(sql)]


@for_each(
    "cells, told",
    [
        (["15.08.2025", "28.02.2025"], "'15.08.2025' would come before '28.02.2025'"),
        (["28.2.2025", "3.11.2025"], "'28.2.2025' would come before '3.11.2025'"),
        (["03-11-2025", "04-01-2025", "unknown"], "'03-11-2025' would come before '04-01-2025'"),
        (["3 Nov 2025", "12 Dec 2025"], "'12 Dec 2025' would come before '3 Nov 2025'"),
        (["Nov 3, 2025", "Dec 1, 2025"], "'Dec 1, 2025' would come before 'Nov 3, 2025'"),
        (["September 3rd, 2025", "October 1st, 2025"], "'October 1st, 2025' would come before"),
        (["Thu Nov 26 13:05:06 2026 +0100", "Fri Dec 4 13:05:06 2026 +0100"], "'Fri Dec 4"),
        (["03/11/25", "04/01/25"], "'03/11/25' would come before '04/01/25'"),
        (["03/11/2025 9:05", "03/11/2025 10:30"], "'03/11/2025 10:30' would come before"),
        (["3.11.25", "28.2.25"], "'28.2.25' would come before '3.11.25'"),
        (["2025/9/1", "2025/10/1"], "'2025/10/1' would come before '2025/9/1'"),
        (["2026-01-31T12:00", "2026-01-31 13:00"], "'2026-01-31 13:00' would come before"),
        (["2026-01-31T23:00-05:00", "2026-02-01T01:00+01:00"], "'2026-01-31T23:00-05:00' would"),
        (["2026-01-31 08:30 UTC", "2026-01-31 09:00 CET"], "'2026-01-31 08:30 UTC' would come before"),
        (["2026-10-25 02:10 CET", "2026-10-25 02:50 CEST"], "'2026-10-25 02:10 CET' would come before"),
        (["9:05", "10:30"], "'10:30' would come before '9:05'"),
        (["9:05 AM", "10:30 AM"], "'10:30 AM' would come before '9:05 AM'"),
        (["01:30 p.m.", "09:05 a.m."], "'01:30 p.m.' would come before '09:05 a.m.'"),
        (["1:30", "0:45", "12:00"], "'12:00' would come before '1:30'"),
        (["45:10", "1:02:03"], "'1:02:03' would come before '45:10'"),
        (["Jan  5 10:00", "Feb  3 10:00"], "'Feb 3 10:00' would come before"),
        (["Jan  5 10:00", "Dec 31  2025"], "'Dec 31 2025' would come before 'Jan 5 10:00'"),
        (["05 Jan", "03 Feb"], "'03 Feb' would come before '05 Jan'"),
        (["January", "February", "n/a"], "'February' would come before 'January'"),
        (["Jan 2026", "Feb 2026"], "'Feb 2026' would come before 'Jan 2026'"),
        (["Q4 2025", "Q1 2026"], "'Q1 2026' would come before 'Q4 2025'"),
        (["2026-Jan-05", "2026-Feb-03"], "'2026-Feb-03' would come before '2026-Jan-05'"),
        (["05/Jan/2026:10:00:00 +0000", "03/Feb/2026:10:00:00 +0000"], "'03/Feb/2026:10:00:00 .0000' would"),
        (["05/Jan/2026:10:00:00 +0000", "05/Jan/2026:10:30:00 +0100"], "'05/Jan/2026:10:00:00 .0000' would"),
        (["2026年9月3日", "2026年10月1日"], "'2026年10月1日' would come before '2026年9月3日'"),
        (["9 AM", "1 PM"], "'1 PM' would come before '9 AM'"),
    ],
)  # fmt: skip
@pytest.mark.long
def test_orders_of_time(cells: list[str], told: str) -> None:
    """Dates, times and durations that SQLite would put in another order than time's are not ordered or compared."""
    memory = _memory(json.dumps([{"x": cell} for cell in cells]))
    later = f"SELECT count(*) FROM t WHERE x > '{cells[0]}'"
    for sql in ("SELECT min(x) FROM t", "SELECT x FROM t ORDER BY x", later):
        with pytest.raises(InvalidQueryError, match=told):
            memory.query(sql)


@for_each(
    "cells, last",
    [
        (["09:05", "10:30"], "10:30"),
        (["1:30", "2:00:00"], "2:00:00"),
        (["01.02.2025", "03.04.2025"], "03.04.2025"),
        (["2026-01-31", "2026-01-31 09:05", "2026-02-01"], "2026-02-01"),
        (["2026-01-31 08:30 CET", "2026-01-31 09:00 CET"], "2026-01-31 09:00 CET"),
        (["2026-01-31 09:00 CET", "2026-07-31 09:00 CEST"], "2026-07-31 09:00 CEST"),
        (["2026-01-31 08:30 GMT", "2026-01-31 09:00 UTC"], "2026-01-31 09:00 UTC"),
        (["2026-01-31", "2026-01-31 09:00 CET"], "2026-01-31 09:00 CET"),
        (["3.11.14", "3.12.1", "3.10.12"], "3.12.1"),
        (["3.9.2025.1", "10.0.0.10"], "3.9.2025.1"),
        (["16:9", "4:3"], "4:3"),
        (["12 Monkeys", "3 Marches"], "3 Marches"),
        (["Janet", "Mark 10", "Mark 9", "Decimus"], "Mark 9"),
        (["Jan 05", "Jan 12"], "Jan 12"),
        (
            ["05/Jan/2026:10:00:00 +0100", "05/Jan/2026:10:30:00 +0100"],
            "05/Jan/2026:10:30:00 +0100",
        ),
    ],
)
def test_texts_in_order_of_time(cells: list[str], last: str) -> None:
    """Times that stand in their order as texts are compared so; versions, addresses and ratios are no times."""
    memory = _memory(json.dumps([{"x": cell} for cell in cells]))
    assert [(last,)] == [tuple(row) for row in memory.query("SELECT max(x) FROM t")]


def test_half_hours_of_zones() -> None:
    """Minutes of a zone west of Greenwich go the way of its hours."""
    assert datetime(2025, 2, 28, 13, 30, tzinfo=UTC) == moment("28 Feb 2025 10:00 -0330")
    assert datetime(2025, 2, 28, 10, 30, tzinfo=UTC) == moment("28 Feb 2025 10:00 -00:30")


def test_casts_of_times() -> None:
    """CAST takes neither the hours of a time nor the day of a date for all of it; their parts are put in order by substr."""
    memory = _memory("day,took\n28.02.2025,9:05\n03.03.2025,10:30")
    for name in ("day", "took"):
        with pytest.raises(InvalidQueryError, match="for another number"):
            memory.query(f"SELECT sum(CAST({name} AS REAL)) FROM t")
    day = "substr(day, 7, 4) || substr(day, 4, 2) || substr(day, 1, 2)"
    answer = memory.query(f"SELECT max({day}), max(substr('00000' || took, -5)) FROM t")
    assert [("20250303", "10:30")] == [tuple(row) for row in answer]


@for_each(
    "cell, expression",
    [
        ("28.02.2025", "date(x)"),
        ("28.02.2025", "strftime('%Y-%m', x)"),
        ("2025-02-28 9:05", "datetime(x)"),
        ("2025-02-28T10:00:00+0100", "julianday(x)"),
        ("9:05", "time(x, '+1 hour')"),
    ],
)
def test_functions_of_dates(cell: str, expression: str) -> None:
    """A date in a form for which SQLite's functions give NULL is not read by them; others, and words, are."""
    memory = _memory(json.dumps([{"x": cell}, {"x": "unknown"}]))
    with pytest.raises(InvalidQueryError, match=re.escape(f"gives NULL for '{cell}' in x")):
        memory.query(f"SELECT {expression} FROM t")
    memory = _memory(json.dumps([{"x": "2025-02-28T10:00:00Z"}, {"x": "unknown"}]))
    [[found], [nothing]] = memory.query(f"SELECT {expression} FROM t")
    assert found is not None and nothing is None


@for_each(
    "number, expression",
    [
        (2024, "date(x)"),
        (2024, "strftime('%Y', x)"),
        (20250131, "date(max(x))"),
        (1735689600, "datetime(x)"),
        (1735689600, "strftime('%Y-%m', x, '+1 day')"),
        (2024, "date(x, 'auto')"),
        (1735689600000, "date(x, 'unixepoch')"),
    ],
)
def test_numbers_are_not_dates(number: int, expression: str) -> None:
    """A number that SQLite's date functions would take for another day, or for none, is an error."""
    memory = _memory(json.dumps([{"x": number}]))
    with pytest.raises(InvalidQueryError, match=f"{number} in .*write "):
        memory.query(f"SELECT {expression} FROM t")


@pytest.mark.long
@for_each(
    "number, expression, expected",
    [
        (1735689600, "datetime(x, 'unixepoch')", "2025-01-01 00:00:00"),
        (1735689600, "datetime(x, 'auto')", "2025-01-01 00:00:00"),
        (1735689600, "strftime('%Y', x, 'unixepoch', '+1 day')", "2025"),
        (1735689600000, "date(x / 1000, 'unixepoch')", "2025-01-01"),
        (2460707, "date(x)", "2025-01-31"),
        (2024, "date(x || '-01-01')", "2024-01-01"),
        (20250131, "date(substr(x, 1, 4) || '-' || substr(x, 5, 2) || '-' || substr(x, 7))", "2025-01-31"),
        (2, "time(julianday('2025-01-31') - julianday('2025-01-01') + x)", "12:00:00"),
    ],
)  # fmt: skip
def test_numbers_as_dates(number: int, expression: str, expected: str) -> None:
    """Seconds since 1970, days of SQLite's own, and texts made of numbers are dates."""
    memory = _memory(json.dumps([{"x": number}]))
    assert [(expected,)] == list(memory.query(f"SELECT {expression} FROM t"))


@for_each(
    "condition",
    [
        "(id, n) = (1, 5)",
        "(n, id) = (5, 1)",
        "CASE WHEN flag THEN 1 END",
        "iif(flag, 1, 0)",
    ],
)
def test_texts_in_rows_and_branches(condition: str) -> None:
    """A text is refused as a number inside a row value, and as a condition of CASE and iif: SQLite would find nothing."""
    with MemoryManager("sqlite://", user_id="ann") as manager:
        manager.store("id,n,flag\n001,5,yes\n002,6,no\n003,7,yes", key="t")

        with pytest.raises(InvalidQueryError, match="texts such as"):
            manager.query(f"SELECT count(*) FROM t WHERE {condition}")


@for_each("before, unit", [("9,", " "), ("3 Nov", "\n"), ("", "mon")])
def test_a_long_cell_is_no_date(before: str, unit: str) -> None:
    """Whether thousands of blanks or names of days hold a date is seen by reading them once."""
    assert_linear(moment, unit, before, "x")
