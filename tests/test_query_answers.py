"""Queries that a model writes over what its tools give: answered, and answered right."""

from __future__ import annotations

import json
from typing import Any

import pytest

from for_each import for_each
from memory_context import MemoryManager
from memory_context.exceptions import InvalidQueryError

ORDERS = """id,customer,day,amount,price,status,note,code
1,ann,2023-12-30,5,"$1,200.00",200,urgent,007
2,bob,2024-01-02,,$9.50,404,,012
3,ann,2024-02-03,12,$20.00,200,n/a,123
4,cem,2024-02-28,7,$5.25,500,12 pcs,045
5,dee,2025-03-01,n/a,$100.00,200,late,300
"""
CUSTOMERS: list[dict[str, Any]] = [
    {"name": "ann", "city": "Rome", "vip": True, "tags": ["a", "b"], "meta": {"n": 3}},
    {"name": "bob", "city": "Oslo", "vip": False, "tags": [], "meta": {"n": 1}},
    {"name": "cem", "city": "Rome", "vip": None, "tags": ["b"], "meta": {"n": 2}},
]
MIXED: list[dict[str, Any]] = [
    {"k": 1, "v": 5},
    {"k": 2, "v": "x"},
    {"k": 3, "v": 10},
    {"k": 4, "v": None},
]
PATHS = "path,took\n/a,5ms\n/b,12ms\n/c,7ms\n"
LOG = """2026-01-31 12:00:00 ERROR db: timeout after 30 s
2026-01-31 12:00:05 INFO web: done in 5 ms
2026-02-01 09:10:00 ERROR web: code 500
"""
FILMS = "title,year\n300,2006\n1984,1984\nAlien,1979\nHeat,1995\n12 Angry Men,1957\n"


@pytest.fixture(scope="module")
def memory() -> MemoryManager:
    """What an agent's tools have given."""
    manager = MemoryManager("sqlite://", user_id="ann")
    manager.store(ORDERS, key="o")
    manager.store(json.dumps(CUSTOMERS), key="c")
    manager.store("\n".join(map(json.dumps, MIXED)), key="m")
    manager.store(PATHS, key="p")
    manager.store(LOG, key="g")
    manager.store(FILMS, key="f")
    manager.store("f,n\n5.00,1\n12.50,2\n", key="d")
    return manager


ANSWERS: list[tuple[str, list[Any]]] = [
    # dates
    ("SELECT substr(day,1,4) AS y, count(*) FROM o GROUP BY y ORDER BY y", [("2023", 1), ("2024", 3), ("2025", 1)]),
    ("SELECT id FROM o WHERE substr(day,1,4) = '2024' ORDER BY id", [(2,), (3,), (4,)]),
    ("SELECT id FROM o WHERE CAST(strftime('%Y', day) AS INTEGER) >= 2025", [(5,)]),
    ("SELECT id FROM o WHERE strftime('%m', day) IN ('01', '12') ORDER BY id", [(1,), (2,)]),
    ("SELECT id FROM o WHERE day BETWEEN '2024-01-01' AND '2024-12-31' ORDER BY day DESC", [(4,), (3,), (2,)]),
    ("SELECT strftime('%Y', day) - 2000 FROM o WHERE id = 1", [(23,)]),
    ("SELECT julianday(max(day)) - julianday(min(day)) FROM o", [(427.0,)]),
    ("SELECT id FROM o WHERE date(day) > date('2024-03-01', '-2 days')", [(5,)]),
    ("SELECT count(*) FROM g WHERE time >= '2026-02-01'", [(1,)]),
    ("SELECT count(*) FROM o JOIN f ON strftime('%Y', day) > year AND title = '300'", [(5,)]),
    # what is missing
    ("SELECT sum(amount), avg(amount), count(amount), count(*) FROM o", [(24, 8.0, 3, 5)]),
    ("SELECT id FROM o WHERE COALESCE(amount, 0) > 6 ORDER BY id", [(3,), (4,)]),
    ("SELECT id FROM o WHERE COALESCE(amount, '') = '' ORDER BY id", [(2,), (5,)]),
    ("SELECT id, COALESCE(amount, 'unknown') AS a FROM o WHERE a = 'unknown' ORDER BY id", [(2, "unknown"), (5, "unknown")]),
    ("SELECT COALESCE(amount, 'unknown') AS a FROM o ORDER BY a, id LIMIT 4", [(5,), (7,), (12,), ("unknown",)]),
    ("SELECT id FROM o WHERE amount <> 'n/a' ORDER BY id", [(1,), (3,), (4,)]),
    ("SELECT id FROM o ORDER BY amount IS NULL, amount DESC LIMIT 1", [(3,)]),
    ("SELECT NULLIF(status, 200) FROM o ORDER BY id LIMIT 2", [(None,), (404,)]),
    # numbers and texts
    ("SELECT id FROM o WHERE status = '404' OR status IN ('500', '501') ORDER BY id", [(2,), (4,)]),
    ("SELECT id FROM o WHERE status LIKE '4%' AND status <> 'ok'", [(2,)]),
    ("SELECT CAST(status AS TEXT) FROM o WHERE CAST(status AS TEXT) = '404'", [("404",)]),
    ("SELECT CASE status WHEN '200' THEN 'ok' ELSE 'bad' END AS s, count(*) FROM o GROUP BY s LIMIT 1", [("bad", 2)]),
    ("SELECT k FROM m WHERE v = 5 OR v = 'x' ORDER BY k", [(1,), (2,)]),
    ("SELECT v FROM m ORDER BY v", [(None,), (5,), (10,), ("x",)]),
    ("SELECT sum(replace(took, 'ms', '')), max(CAST(took AS REAL)) FROM p", [(24, 12.0)]),
    ("SELECT path FROM p WHERE CAST(took AS INTEGER) > 6 ORDER BY CAST(took AS INTEGER) DESC", [("/b",), ("/c",)]),
    ("SELECT path FROM p ORDER BY took || ''", [("/b",), ("/a",), ("/c",)]),
    ("SELECT took || '' AS took FROM p ORDER BY took", [("12ms",), ("5ms",), ("7ms",)]),
    ("SELECT sum(CAST(status AS REAL)), CAST(min(status) AS TEXT) FROM o", [(1504.0, "200")]),
    ("SELECT CAST(note AS INTEGER), CAST(code AS INTEGER) FROM o WHERE id IN (1, 4) ORDER BY id", [(None, 7), (12, 45)]),
    ("SELECT max(code), min(code) FROM o", [("300", "007")]),
    ("SELECT 100.0 * sum(status = 200) / count(*), round(avg(price), 2) FROM o", [(60.0, 266.95)]),
    # only the rows that a query reads
    ("SELECT sum(note), avg(note), max(note) FROM o WHERE note GLOB '[0-9]' OR note IS NULL", [(None, None, None)]),
    ("SELECT k FROM m WHERE typeof(v) = 'integer' AND v > 6", [(3,)]),
    ("SELECT sum(v), max(v) FROM m WHERE v <> 'x'", [(15, 10)]),
    ("WITH s AS (SELECT v AS x FROM m WHERE v <> 'x') SELECT sum(x) FROM s WHERE x > 6", [(10,)]),
    ("SELECT sum(a.v) FROM m a JOIN m b ON a.k = b.k WHERE a.v <> 'x' AND b.k < 3", [(5,)]),
    ("SELECT count(*) FROM g WHERE level = 'ERROR' AND source = 'web' AND substr(message, 6) + 0 >= 500", [(1,)]),
    ("SELECT title FROM f ORDER BY title LIMIT 3", [("12 Angry Men",), ("1984",), ("300",)]),
    ("SELECT title FROM f WHERE title > 'B'", [("Heat",)]),
    # truths and JSON
    ("SELECT name FROM c WHERE vip", [("ann",)]),
    ("SELECT name FROM c WHERE vip = 1 AND vip = TRUE AND vip IS TRUE", [("ann",)]),
    ("SELECT name FROM c WHERE NOT vip OR vip IS NULL ORDER BY name", [("bob",), ("cem",)]),
    ("SELECT DISTINCT customer FROM o WHERE trim(customer, 'an') = '' OR ltrim(customer, 'b') = 'ob'", [("ann",), ("bob",)]),
    ("SELECT name FROM c, json_each(c.tags) j WHERE j.value = 'b' ORDER BY name", [("ann",), ("cem",)]),
    ("SELECT name FROM c WHERE meta ->> '$.n' > 1 AND json_extract(tags, '$[0]') = 'a'", [("ann",)]),
    # joins, groups, windows, subqueries
    ("SELECT customer AS customer, sum(id) AS s FROM o GROUP BY customer HAVING s > 4 AND customer > 'b'", [("dee", 5)]),
    ("SELECT customer, sum(id) AS price FROM o GROUP BY customer ORDER BY price DESC LIMIT 1", [("dee", 5)]),
    ("WITH s AS (SELECT customer AS c, sum(id) AS z FROM o GROUP BY 1 HAVING z > 4) SELECT c FROM s WHERE z > 0", [("dee",)]),
    ("SELECT city, count(*) FROM o JOIN c ON o.customer = c.name GROUP BY city ORDER BY city", [("Oslo", 1), ("Rome", 3)]),
    ("SELECT o.id FROM o LEFT JOIN c ON c.name = o.customer WHERE c.name IS NULL", [(5,)]),
    ("SELECT status, sum(price) AS s FROM o GROUP BY status HAVING sum(price) < 10 ORDER BY s", [(500, 5.25), (404, 9.5)]),
    ("SELECT id, row_number() OVER (PARTITION BY customer ORDER BY day DESC) AS r FROM o ORDER BY r DESC LIMIT 1", [(1, 2)]),
    ("SELECT price - lag(price) OVER (ORDER BY id) FROM o WHERE id < 3", [(None,), (-1190.5,)]),
    ("WITH s AS (SELECT sum(price) t FROM o GROUP BY customer) SELECT t FROM s WHERE t > (SELECT avg(t) FROM s)", [(1220,)]),
    ("SELECT id FROM o WHERE price = (SELECT max(price) FROM o)", [(1,)]),
    ("SELECT id FROM o WHERE customer IN (SELECT name FROM c WHERE city = 'Oslo')", [(2,)]),
    ("SELECT id FROM o WHERE (status, customer) = (200, 'ann') ORDER BY id", [(1,), (3,)]),
    ("SELECT id FROM o UNION ALL SELECT k FROM m ORDER BY 1 DESC LIMIT 2", [(5,), (4,)]),
    ("SELECT count(*) FILTER (WHERE status = 200), count(DISTINCT customer) FROM o", [(3, 4)]),
    ("SELECT id, iif(customer IN (SELECT name FROM c), 'in', 'out') AS w FROM o WHERE w = 'out'", [(5, "out")]),
]  # fmt: skip


@for_each("sql, expected", ANSWERS)
def test_answers(memory: MemoryManager, sql: str, expected: list[Any]) -> None:
    """Queries on dates, missing values, numbers, truths and joins give what Python says."""
    assert expected == [tuple(row) for row in memory.query(sql)]


def test_names_of_casts(memory: MemoryManager) -> None:
    """A column of an answer that is a cast has the name that the statement gives it."""
    answer = memory.query("SELECT CAST( took  AS real ), max(1, cast('7' as int)) FROM p LIMIT 1")
    assert ("CAST( took  AS real )", "max(1, cast('7' as int))") == answer.columns


def test_what_is_no_cast(memory: MemoryManager) -> None:
    """A cast in a string, a quoted name or a comment is none, and a parenthesis in one of these ends none."""
    sql = """SELECT 'CAST(took AS REAL)' AS a, "x", CAST /* ( */ (replace(took, '(', '') /* AS ) */ AS REAL)
        FROM (SELECT took, 1 AS "x" FROM p WHERE path <> 'CAST(x AS DATE)') -- CAST(took AS DATE)"""
    assert [("CAST(took AS REAL)", 1, took) for took in (5, 12, 7)] == list(memory.query(sql))


@for_each(
    "sql, told",
    [
        # texts that functions make
        ("SELECT id FROM o WHERE substr(day,1,4) > 2023", r"SUBSTRING\(day, 1, 4\) .*'2023'.*CAST\(SUBSTRING"),
        ("SELECT id FROM o WHERE strftime('%Y', day) = 2023", "'2023'.*CAST.*or compare it with a text, as '2023'"),
        ("SELECT id FROM o WHERE trim(note) > 5", r"TRIM\(note\) .*'urgent'"),
        ("SELECT CASE substr(day,1,4) WHEN 2023 THEN 'old' END FROM o", "'2023'"),
        ("SELECT id FROM o WHERE substr(day,1,4) IN (2023, 2024)", "'2023'"),
        ("SELECT id FROM o WHERE NULLIF(code, 7) IS NULL", "'007'"),
        ("SELECT customer FROM o GROUP BY 1 HAVING min(substr(day,1,4)) < 2024", "'2023'"),
        ("WITH s AS (SELECT substr(day,1,4) AS y FROM o) SELECT 1 FROM s WHERE y >= 2024", "y is compared .*'2023'"),
        ("SELECT id, strftime('%m', day) AS x FROM o WHERE x >= 6", "x is compared .*'01'"),
        ("SELECT id FROM o WHERE replace(price, '$', '') > 100", r"REPLACE\(price, '\$', ''\) .*'1200.0'"),
        ("SELECT id FROM o WHERE COALESCE(amount, '') > 3", "COALESCE.*''"),
        ("SELECT id FROM o WHERE json_extract('[\"a\"]', '$[0]') > 5", "'a'"),
        # numbers that are compared with texts
        ("SELECT id FROM o WHERE COALESCE(status, '') = '200'", r"COALESCE\(status, ''\) gives numbers.*with 200, not"),
        ("SELECT id FROM o WHERE IFNULL(status, 'x') IN ('200', '404')", "with 200, not with '200'"),
        ("SELECT id FROM o WHERE CASE WHEN id > 1 THEN status END = '200'", "with 200"),
        ("SELECT customer FROM o GROUP BY 1 HAVING max(status) = '200'", r"MAX\(status\) gives numbers"),
        ("SELECT customer FROM o GROUP BY 1 HAVING count(*) > '1'", r"COUNT\(\*\) gives numbers"),
        ("SELECT id FROM o WHERE amount > '1,000'", "with 1000, not with '1,000'"),
        ("SELECT k FROM m WHERE v = '5'", "with 5, not"),
        ("SELECT k FROM m WHERE v > 3", "v .*'x'.*CAST"),
        ("SELECT sum(v) FROM m WHERE k > 1", "v is used as numbers .*'x'"),
        ("SELECT k FROM m WHERE v <> 'x' OR v > 6", "v is compared with numbers .*'x'"),
        ("SELECT max(v) FROM m", "v is ordered among numbers .*'x'"),
        ("SELECT k FROM m ORDER BY v DESC LIMIT 1", "v is ordered among numbers .*'x'"),
        ("SELECT max(v) FROM m WHERE k IN (SELECT k FROM m)", "v is ordered among numbers .*'x'"),
        ("SELECT max(v) FROM m WHERE EXISTS (SELECT k FROM m)", "v is ordered among numbers .*'x'"),
        # an output under the name of its column
        ("SELECT day, sum(status) AS status FROM o GROUP BY 1 HAVING status > 5", r"is the column .*SUM\(status\)"),
        ("SELECT day, max(price) AS id FROM o GROUP BY 1 HAVING id > 5", r"id is the column .*MAX\(price\)"),
        ("SELECT day, max(price) AS z FROM (SELECT *, id AS z FROM o) GROUP BY 1 HAVING z > 5", "z is the column"),
        ("SELECT day, sum(price) AS id FROM o GROUP BY day ORDER BY -id", r"ORDER BY, id is the column .*SUM\(price\)"),
        ("SELECT status AS status, count(*) FROM o", "add GROUP BY status"),
        # truths, in one way in JSON and in CSV
        ("SELECT name FROM c WHERE vip = 'true'", "vip is read as a number .true 1, false 0.: compare it with 1"),
        ('SELECT name FROM c WHERE vip = "true"', "no such column: true"),
        ("SELECT name FROM c WHERE vip LIKE 't%'", "use it as it is"),
        ("SELECT id FROM o WHERE trim(price, '$') = '9.50'", "price is read as a number in .: use it as it is"),
        ("SELECT f FROM d WHERE f LIKE '5.00'", "f is read as a number: use it as it is"),
        (f"SELECT trim(city, '{'x' * 200}') FROM c", "a text of 100 characters at most"),
        ("SELECT name FROM c WHERE lower(trim(vip)) = 'true'", "compare it with 1"),
        # casts
        ("SELECT CAST('$1,200' AS REAL)", r"'\$1,200' for another number: leave only the number"),
        ("SELECT sum(CAST(replace(x, '$', '') AS REAL)) FROM (SELECT '$1,200' AS x)", "'1,200' in replace"),
        ("SELECT CAST(substr(x, 1, 5) AS INT) FROM (SELECT '12h' AS x UNION ALL SELECT '5d3h')", "'12h' and '5d3h'"),
        ("SELECT CAST('12345678901234567890' AS INTEGER)", "'12345678901234567890' for another number"),
        ("SELECT CAST(day AS DATE) FROM o", "no type DATE.*day"),
        ("SELECT CAST('$1,200' AS REAL /* net :( */)", r"'\$1,200' for another number"),
        ("SELECT CAST('$1,200' AS REAL -- VAT (19%\n)", r"'\$1,200' for another number"),
        ("SELECT CAST('$1,200' AS \"REAL)\")", r"'\$1,200' for another number"),
        ("SELECT CAST('$1,200' AS" + " " * 9_800 + "INT/*(*/)", r"'\$1,200' for another number"),
        ("SELECT CAST(k AS UNSIGNED BIG INT) FROM m WHERE v > 6", "a form that cannot be checked"),
        # orders
        ("SELECT path FROM p ORDER BY took", r"took .*'12ms' would come before '5ms'.*CAST\(took AS REAL\).*took \|\| ''"),
        ("SELECT path, took AS t FROM p ORDER BY 2 DESC LIMIT 1", "took .*'12ms'"),
        ("SELECT row_number() OVER (ORDER BY took) FROM p", "took .*'12ms'"),
        ("SELECT max(x) FROM (SELECT '1s' AS x UNION ALL SELECT '5ms')", "'1s' would come before '5ms'"),
        ("SELECT max(x) FROM (SELECT '2 hours ago' AS x UNION ALL SELECT '5 minutes ago')", "'2 hours ago' would come"),
        ("SELECT path FROM p WHERE took > '6ms'", "took .*'12ms'"),
        ("SELECT id FROM o ORDER BY replace(price, '$', '')", "'1200.0' would come before '20.0'"),
        ("SELECT max(d) FROM (SELECT '12/01/2022' AS d UNION ALL SELECT '03/15/2023')", "'03/15/2023' would come"),
        ("SELECT max(x) FROM (SELECT '9007199254740993' AS x UNION ALL SELECT '1152921504606846983')", "'11529215"),
        ("SELECT day - 1 FROM o", "day is used as numbers here, and gives texts such as '2023"),
    ],
)  # fmt: skip
def test_refused(memory: MemoryManager, sql: str, told: str) -> None:
    """What SQLite would compare, cast or order wrong is an error that names the expression, a cell, and what to do."""
    with pytest.raises(InvalidQueryError, match=told):
        memory.query(sql)


MEETINGS = [
    {
        "n": 1,
        "start": {"dateTime": "2026-05-04T10:00:00Z", "timeZone": "UTC"},
        "who": ["a", "b"],
        "note": "see {x}",
    },
    {
        "n": 2,
        "start": {"dateTime": "2026-06-02T10:00:00Z", "timeZone": "UTC"},
        "who": ["b"],
        "note": '{"a": 1}',
    },
    {"n": 3, "start": None, "who": [], "note": "unread"},
]


@for_each(
    "condition, told",
    [
        ("WHERE start > '2026-06-01'", r"start is compared with '2026-06-01' here.*start ->> '\$\.member'"),
        ("WHERE '2026-06-01' BETWEEN start AND start", r"start is compared"),
        ("WHERE start = 'UTC'", r"start is compared with 'UTC' here"),
        ("WHERE date(start) > '2026-06-01'", r"start is read as a date .*start ->> "),
        ("WHERE who IN ('b', 'c')", r"""who is compared with 'b' .*'\["a", "b"\]'.*json_each\(who\)"""),
    ],
)  # fmt: skip
def test_objects_are_no_texts(condition: str, told: str) -> None:
    """A column of objects or lists is not compared with texts: the error says how to read its members."""
    memory = MemoryManager("sqlite://", user_id="ann")
    memory.store(json.dumps(MEETINGS), key="t")
    with pytest.raises(InvalidQueryError, match=told):
        memory.query(f"SELECT n FROM t {condition}")


@for_each(
    "condition, expected",
    [
        ("start.dateTime > '2026-06-01'", [2]),
        ("start LIKE '%2026-06%'", [2]),
        ("start IS NULL", [3]),
        ("""who = '["b"]'""", [2]),
        ("who <> 'b'", [1, 2, 3]),
        ("who IN (SELECT who FROM t WHERE n > 2)", [3]),
        ("start = (SELECT max(start) FROM t)", [2]),
        ("coalesce(start, 'unknown') = 'unknown'", [3]),
        ("note >= 'ready'", [1, 2, 3]),
    ],
)
def test_objects_as_texts(condition: str, expected: list[int]) -> None:
    """Objects and lists may be compared with JSON and with each other, and texts with texts of which one is JSON."""
    memory = MemoryManager("sqlite://", user_id="ann")
    memory.store(json.dumps(MEETINGS), key="t")
    found = memory.query(f"SELECT n FROM t WHERE {condition} ORDER BY n")
    assert [(n,) for n in expected] == list(found)


@pytest.mark.long
def test_many_conditions(memory: MemoryManager) -> None:
    """Long lists of values, and many conditions, also in WITH clauses on each other, take no longer than SQLite itself."""
    clauses = ["c0 AS (SELECT day, id FROM o)"]
    clauses += [
        f"c{number} AS (SELECT day, id FROM c{number - 1} WHERE day > '2024' AND id > {number % 2})"
        for number in range(1, 40)
    ]
    assert [(2,)] == list(memory.query(f"WITH {', '.join(clauses)} SELECT min(id) FROM c39"))
    conditions = [f"(day > '2024-01-{number:02}' OR status = {number})" for number in range(1, 60)]
    assert [(3,)] == list(memory.query(f"SELECT count(*) FROM o WHERE {' AND '.join(conditions)}"))
    values = ", ".join(f"'c{number}'" for number in range(1000))
    assert [(0,)] == list(memory.query(f"SELECT count(*) FROM o WHERE customer IN ({values})"))
