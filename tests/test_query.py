"""`query_memory`: SQL over the rows of stored texts, exact, within limits, and in reach of nothing else."""

from __future__ import annotations

import asyncio
import csv
import io
import json
from typing import Any

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_core import CancellationToken, FunctionCall
from autogen_core.tools import FunctionTool
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool as langchain_tool

from commands import in_this_process
from for_each import first_quick, for_each
from growth import assert_linear
from langchain_memory_context import MemoryContextMiddleware
from langchain_memory_context import memory_tools as langchain_tools
from langchain_memory_context.testing import ScriptedChatModel, call
from memory_context import FoldPolicy, MemoryContext, MemoryManager, MemoryRef, QueryResult
from memory_context.agent_framework import MemoryContextProvider
from memory_context.autogen import memory_tools as autogen_tools
from memory_context.exceptions import (
    InvalidQueryError,
    InvalidSelectionError,
    KeyExistsError,
    SelectionTimeoutError,
)
from memory_context.memory import sql_over_memories as queries
from memory_context.testing import ScriptedChatClient, ScriptedProvider, calling
from memory_context.text.query import sandboxed_database as locked_database
from memory_context.text.read.read_time_limit import TimeLimit
from memory_context.text.rows.rows_in_text import table_of
from memory_context.text.rows.values_as_rows import with_members
from memory_context.tools.query_memory import QUERYING, QueryArgs
from memory_context.tools.tool_calls_and_answers import MemoryToolError, answer_limit
from query_tables import FORMS, as_csv, questions, shop


@pytest.fixture
def memory() -> MemoryManager:
    """The memories of Ann; Bob has one, too."""
    ann = MemoryManager("sqlite://", user_id="ann")
    MemoryManager(ann.memory_store, user_id="bob").store("a,b\n1,2\n3,4", key="bobs")
    ann.store("city,total\nRome,1\nOslo,2\nRome,3", key="sales")
    ann.store("hunter2", type="secret", key="password")
    ann.store(b"\0\1\2", key="picture")
    return ann


@pytest.mark.parametrize(
    ("seed", "orders"), [(1, 40), pytest.param(2, 1000, marks=pytest.mark.long)]
)
@pytest.mark.parametrize("form", first_quick(FORMS))
def test_questions(form: str, seed: int, orders: int) -> None:
    """Questions with two joins, a filter and an aggregate are answered exactly, in every form of a table."""
    tables = shop(seed, orders)
    memory = MemoryManager("sqlite://", user_id="ann")
    for name in ("orders", "customers", "products"):
        memory.store(FORMS[form](getattr(tables, name)), key=name)
    asked = questions(tables)
    assert len(asked) == 20
    for sql, expected in asked:
        answer = memory.query(sql)
        assert expected == [tuple(row) for row in answer], sql
        told = QUERYING.answer(memory, QueryArgs(sql=sql), answer_limit(QUERYING, None)).text
        assert memory.counter.count(told) <= 2000


def test_result(memory: MemoryManager) -> None:
    """An answer iterates, counts and converts; it names its columns and its sources."""
    result = memory.query("SELECT city, sum(total) AS total FROM sales GROUP BY city ORDER BY 1")
    assert ("city", "total") == result.columns
    assert [("Oslo", 2), ("Rome", 4)] == list(result)
    assert 2 == len(result)
    assert ("sales",) == result.sources
    assert [{"city": "Oslo", "total": 2}, {"city": "Rome", "total": 4}] == result.to_dicts()
    assert "city,total\nOslo,2\nRome,4" == result.to_csv()
    assert [2, 4] == list(result.to_pandas()["total"])
    shown = result._repr_mimebundle_()
    assert "Oslo" in shown["text/html"]
    assert "Oslo" in shown["text/plain"]


def test_several_texts_as_one_table(memory: MemoryManager) -> None:
    """All memories whose keys begin alike are one table, with their keys; other columns are an error."""
    for number in range(3):
        memory.store(f"a,b\n{number},x\n{number + 10},y", key=f"page_{number}")
    answer = memory.query('SELECT memory_key, sum(a) FROM "page_*" GROUP BY memory_key ORDER BY 1')
    assert [("page_0", 10), ("page_1", 12), ("page_2", 14)] == list(answer)
    assert ("page_0", "page_1", "page_2") == answer.sources
    memory.store("c,d\n1,2\n3,4", key="page_9")
    with pytest.raises(InvalidQueryError, match=r"page_0 has a, b, page_9 has c, d"):
        memory.query('SELECT count(*) FROM "page_*"')


@for_each(
    "text, sql, expected",
    [
        ("id,n\n007,1\n7,2", "SELECT n FROM t WHERE id = '007'", [(1,)]),
        ("id,x\n" + "9,y\n" * 1500 + "007,z", "SELECT id FROM t WHERE id LIKE '0%'", [("007",)]),
        ("n,x\n9,\n10,b\nn/a,c", "SELECT max(n), count(n) FROM t", [(10, 2)]),
        ("n,x\n12345678901234567890,a\n1,b", "SELECT max(length(n)) FROM t", [(20,)]),
        ('[{"a": {"b": [1, 2]}}]', "SELECT json_extract(a, '$.b[1]') FROM t", [(2,)]),
        ('[{"a": [1, 2]}]', "SELECT value FROM t, json_each(t.a)", [(1,), (2,)]),
        ("order,group\n1,x\n2,y", 'SELECT "order" FROM t WHERE "group" = \'y\'', [(2,)]),
        ("a,b\n1,x\n2,y", "WITH s AS (SELECT a FROM t) SELECT count(*) FROM s", [(2,)]),
        ("a,b\n1,x\n2,y", "SELECT b, row_number() OVER (ORDER BY a DESC) FROM t", [("y", 1), ("x", 2)]),
        ("a,b\n1,x\n2,y", "SELECT a FROM t UNION SELECT a + 1 FROM t", [(1,), (2,), (3,)]),
        ("a,b\n1,x\n2,y;", "SELECT count(*) FROM t;", [(2,)]),
    ],
)  # fmt: skip
def test_values(text: str, sql: str, expected: list[Any]) -> None:
    """Numbers compare as numbers, ids keep their zeros, no value is NULL, nested values are JSON."""
    memory = MemoryManager("sqlite://", user_id="ann")
    memory.store(text, key="t")
    assert expected == list(memory.query(sql))


HOSTILE = [
    *(f"{verb} sales" for verb in ("DROP TABLE", "DELETE FROM", "ANALYZE", "REINDEX", "TRUNCATE")),
    *("INSERT INTO sales VALUES (1, 2)", "UPDATE sales SET total = 0", "REPLACE INTO sales VALUES (1, 2)"),
    *("CREATE TABLE x (a)", "CREATE TEMP TABLE x AS SELECT * FROM sales", "CREATE VIEW v AS SELECT 1"),
    *("CREATE TRIGGER x AFTER INSERT ON sales BEGIN SELECT 1; END", "CREATE VIRTUAL TABLE x USING fts5(a)"),
    *("ALTER TABLE sales RENAME TO x", "DROP INDEX x", "VACUUM", "VACUUM INTO 'stolen.db'", "BEGIN", "COMMIT"),
    *("ROLLBACK", "SAVEPOINT x", "RELEASE x", "EXPLAIN SELECT 1", "EXPLAIN QUERY PLAN SELECT * FROM sales"),
    *("ATTACH 'memory.db' AS m", "ATTACH '/etc/passwd' AS m", "DETACH main", "COPY sales TO 'x'", "SET x = 1"),
    *(f"PRAGMA {name}" for name in ("database_list", "table_list", "temp_store = 1", "writable_schema = 1")),
    *(f"SELECT * FROM pragma_{name}" for name in ("database_list", "table_list", "function_list", "compile_options")),
    *(f"SELECT count(*) FROM pragma_{name}" for name in ("database_list", "table_list", "function_list")),
    *(f"SELECT * FROM {name}" for name in ("sqlite_master", "sqlite_schema", "sqlite_temp_master", "main.sqlite_master")),
    *(f"SELECT count(*) FROM {name}" for name in ("sqlite_master", "sqlite_schema", "dbstat", "sqlite_stmt")),
    *(f"SELECT * FROM {name}" for name in ("bobs", '"bobs"', "main.bobs", "BOBS", "agent_memories", "bob.bobs")),
    *(f"SELECT * FROM {name}" for name in ("password", '"password"', '"pass*"', "picture", '"pic*"', '"bob*"')),
    *(f"SELECT * FROM {name}" for name in ('"../../etc/passwd"', "'/etc/passwd'", "read_csv('/etc/passwd')", "glob('*')")),
    *(f"SELECT {name}" for name in ("load_extension('x')", "readfile('/etc/passwd')", "writefile('x', 'y')", "edit('x')")),
    *(f"SELECT {name}" for name in ("randomblob(1000000000)", "zeroblob(1000000000)", "sqlite_version()", "sqlite_source_id()")),
    *(f"SELECT {name}" for name in ("fts3_tokenizer('x')", "sqlite_compileoption_get(0)", "last_insert_rowid()", "changes()")),
    *(f"SELECT {name}" for name in ("total_changes()", "sqlite_log(1, 'x')", "sqlite_offset(1)", "load_extension('a', 'b')")),
    *("SELECT 1; SELECT 2", "SELECT 1; DROP TABLE sales", "SELECT 1;;SELECT 2", "SELECT 1 -- \n; SELECT 2"),
    *("WITH x AS (SELECT 1) DELETE FROM sales", "WITH x AS (SELECT 1) INSERT INTO sales SELECT 1, 2"),
    *("WITH x AS (SELECT 1) UPDATE sales SET total = 0", "WITH x AS (DELETE FROM sales RETURNING *) SELECT * FROM x"),
    *("SELECT * FROM sales WHERE total = ?", "SELECT :a", "SELECT $a", "SELECT @a", "SELECT ?1"),
    *("", " ", "\0", "\ud800", "SELECT '\ud800'", "SELECT \0", "--", "/* x", "hello", "SELECT", "SELECT FROM", "SELECT * FROM"),
    *("SELECT '", 'SELECT "', "SELECT [", "SELECT `", "SELECT (", "SELECT 1)", "SELECT * sales"),
    *("SELECT nosuch FROM sales", "SELECT total FROM sales s WHERE x.total = 1", "SELECT * FROM sales JOIN nosuch USING (a)"),
    *("SELECT city, sum(total) FROM sales", "SELECT *, count(*) FROM sales", "SELECT total FROM sales GROUP BY city"),
    *("SELECT city FROM sales HAVING sum(total) > 1", "SELECT (SELECT city || max(total) FROM sales)"),
    *("SELECT * FROM sales WHERE city MATCH 'x'", "SELECT * FROM sales WHERE city REGEXP 'x'", "SELECT RAISE(ABORT, 'x')"),
    *("SELECT " + "(" * 300 + "1" + ")" * 300, "SELECT " + "1+" * 4000 + "1", "SELECT " + "1," * 4900 + "1", "SELECT '" + "x" * 20_000 + "'"),
    *("SELECT * FROM sales " + "JOIN sales USING (city) " * 70, "SELECT " + "(SELECT " * 120 + "1" + ")" * 120),
    *(f"SELECT {trim}(city, '{'x' * 200}') FROM sales" for trim in ("trim", "rtrim", "ltrim")),
    *(f"SELECT replace(city, '{'x' * 200}', 'y') FROM sales", "SELECT 'x' LIKE '" + "%a" * 200 + "'"),
    *("SELECT * FROM json_each('not json')", "SELECT json_extract('{', '$')", "SELECT abs(-9223372036854775808)"),
    *("WITH RECURSIVE x(s) AS (SELECT 'aaaaaaaaaaaaaaaa' UNION ALL SELECT s || s FROM x) SELECT max(length(s)) FROM x",),
    *(f"{verb} x" for verb in ("GRANT ALL ON", "REVOKE ALL ON", "CALL", "DO", "EXECUTE", "PREPARE", "LOAD", "INSTALL", "IMPORT")),
    *(f"{verb} x" for verb in ("SHOW", "DESCRIBE", "USE", "LOCK TABLE", "MERGE INTO", "HANDLER", "KILL", "FLUSH", "RESET", "LISTEN")),
    *(".tables", ".read /etc/passwd", ".shell ls", "\\d", "SELECT * INTO x FROM sales", "SELECT * FROM sales FOR UPDATE"),
    *("SELECT * FROM sales LIMIT 1; ATTACH 'x' AS y", "SELECT city INTO OUTFILE 'x' FROM sales", "TABLE sales"),
    *("SELECT count(*) FROM (SELECT * FROM bobs)", "SELECT (SELECT count(*) FROM bobs)", "SELECT 1 WHERE EXISTS (SELECT 1 FROM bobs)"),
    *("SELECT 1 UNION SELECT * FROM bobs", "WITH x AS (SELECT * FROM bobs) SELECT * FROM x", "SELECT * FROM sales NATURAL JOIN bobs"),
    *("SELECT * FROM sales s, bobs b", "SELECT * FROM sales WHERE total IN bobs", "SELECT * FROM sales WHERE total IN (SELECT a FROM bobs)"),
    *("SELECT count(*) FROM password", "SELECT 1 FROM password", "SELECT length(text) FROM password", "WITH p AS (SELECT 1 FROM password) SELECT * FROM p"),
    *("SELECT * FROM Sales JOIN sales USING (city)", "SELECT count(*) FROM SALES", "SELECT * FROM temp.sales", "SELECT * FROM temp.bobs"),
    *("SELECT * FROM 'bobs'", "SELECT * FROM [bobs]", "SELECT * FROM `bobs`", "SELECT * FROM main.'bobs'", 'SELECT * FROM "sqlite_master"'),
    *("SELECT * FROM json_each((SELECT a FROM bobs))", "SELECT json_group_array(a) FROM bobs", "VALUES ((SELECT a FROM bobs))"),
    *("SELECT unistr('x', 1, 2)", "SELECT soundex_x('x')", "SELECT sha3('x')", "SELECT decimal_add('1')", "SELECT uuid()"),
    *("SELECT eval('DROP TABLE sales')", "SELECT shell('ls')", "SELECT system('ls')", "SELECT getenv('HOME')", "SELECT http_get('x')"),
    *("SELECT lsmode('x')", "SELECT * FROM fsdir('/')", "SELECT * FROM zipfile('x')", "SELECT * FROM csv('x')", "SELECT * FROM generate_series(1)"),
]  # fmt: skip


def test_hostile_statements(memory: MemoryManager) -> None:
    """Two hundred statements that reach for more than rows of one's own get an error and nothing else."""
    before = list(memory.memory_store.list_all(memory.scope))
    assert 200 <= len(set(HOSTILE))
    for sql in HOSTILE:
        try:
            answer = memory.query(sql)
        except InvalidQueryError as error:
            assert "hunter2" not in str(error)
            continue
        pytest.fail(f"{sql!r} answers {answer}")
    assert [item.content for item in before] == [
        item.content for item in memory.memory_store.list_all(memory.scope)
    ]


@for_each(
    "sql",
    [
        "WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x) SELECT count(*) FROM x",
        "SELECT count(*) FROM numbers a, numbers b, numbers c WHERE a.n + b.n + c.n = 7",
        "SELECT group_concat(a.n) FROM numbers a, numbers b, numbers c GROUP BY a.n",
    ],
)
def test_deadline(sql: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A query that takes too long ends, with an error that says so."""
    monkeypatch.setattr(queries, "SECONDS", 0.2)
    memory = MemoryManager("sqlite://", user_id="ann")
    memory.store("n,x\n" + "\n".join(f"{n},x" for n in range(2000)), key="numbers")
    with pytest.raises(SelectionTimeoutError, match=r"0\.2 seconds"):
        memory.query(sql)


def test_limits_of_an_answer(memory: MemoryManager, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer with too many rows or too much text is an error that says what to do."""
    monkeypatch.setattr(locked_database, "MOST_ROWS", 2)
    with pytest.raises(InvalidQueryError, match="aggregate, or add LIMIT"):
        memory.query("SELECT * FROM sales")
    assert 2 == len(memory.query("SELECT * FROM sales LIMIT 2"))
    monkeypatch.setattr(locked_database, "MOST_BYTES", 3)
    with pytest.raises(InvalidQueryError, match="aggregate, or add LIMIT"):
        memory.query("SELECT city FROM sales LIMIT 2")


def test_errors_say_what_there_is(memory: MemoryManager) -> None:
    """An error is the database's, with the columns of the tables, or with the tables that there are."""
    with pytest.raises(
        InvalidQueryError, match=r"no such column: amount; sales has .*city \(Rome\)"
    ):
        memory.query("SELECT amount FROM sales")
    with pytest.raises(InvalidQueryError, match=r"no such table: sale\. .*sales \(CSV") as caught:
        memory.query("SELECT * FROM sale")
    assert "password" not in str(caught.value)
    memory.store("a,b\n1,2\n3,4", key="x.csv")
    with pytest.raises(InvalidQueryError, match=r'"x\.csv"'):
        memory.query("SELECT * FROM x.csv")
    assert 2 == len(memory.query('SELECT * FROM "x.csv"'))


@for_each(
    "sql, told",
    [
        ("SELECT at FROM trips", r'no such column: at \(in JSON it is "end" ->> \'\$\.at\'\)'),
        (
            "SELECT legs.seat FROM trips",
            r"it is value ->> '\$\.seat' of each.*json_each\(\"legs\"\)",
        ),
        ("SELECT t.end.by FROM trips t", r"no such column: t\.end\.by; trips"),
        # A rewritten name would be the outer query's.
        (
            'WITH "end" AS (SELECT id FROM trips) SELECT end.at FROM trips JOIN "end"',
            r'it is "end" ->> \'\$\.at\'',
        ),
        ("SELECT legs[0].seat FROM trips", r'"column" ->> \'\$\.list\[0\]\.name\''),
        ("SELECT stop FROM trips", r"no such column: stop; trips"),
        ("SELECT deep FROM trips", r"no such column: deep; trips"),
    ],
)
def test_an_error_says_where_in_json_a_name_stands(
    memory: MemoryManager, sql: str, told: str
) -> None:
    """A name that is no column, but a member of the JSON in one, is shown as SQL reads it."""
    # A key that SQL would have to quote is not shown, and half of an emoji is no error of its own.
    odd = {"it's": {"deep": "\ud83d"}}
    trip = {"id": 1, "end": {"at": "09:00"}, "legs": [{"seat": "12A"}], "odd": odd}
    memory.store(json.dumps([trip, trip]), key="trips")
    with pytest.raises(InvalidQueryError, match=told):
        memory.query(sql)


@for_each(
    "sql, rows",
    [
        ("SELECT user.login FROM pulls WHERE user.login LIKE 'a%'", [("ann",)]),
        ("SELECT p.user.login FROM pulls p ORDER BY user.stats.lines DESC", [("bob",), ("ann",)]),
        ('SELECT "user.login" FROM pulls WHERE "user".login <> \'user.login\' LIMIT 1', [("ann",)]),
        ("SELECT max(user.stats.lines) FROM pulls WHERE user.stats.lines > 9", [(10.5,)]),
        (
            "SELECT user.login, city FROM pulls JOIN people ON people.name = user.login",
            [("ann", "Rome")],
        ),
        ("SELECT q.user.plan.name.long FROM pulls q WHERE q.user.plan.name.long > 'p'", [("pro",)]),
        ("SELECT pulls.user.login FROM pulls WHERE pulls.id = 0", [("ann",)]),
        ("SELECT q.`user.login` FROM pulls q WHERE [user.login] = 'ann'", [("ann",)]),
        ("SELECT order.id FROM pulls JOIN people ON order.group.id = name", [(7,)]),
    ],
)
def test_a_member_of_json_is_a_column_under_its_path(
    memory: MemoryManager, sql: str, rows: list[tuple[object, ...]]
) -> None:
    """A member of a column's objects is a column, named by its path: numbers in texts are numbers there, too."""
    users = [
        {"login": "ann", "stats": {"lines": "9.25"}, "plan": {"name": {"long": "pro"}}},
        {"login": "bob", "stats": {"lines": "10.50"}},
    ]
    pulls = [{"id": n, "user": user, "pulls": n} for n, user in enumerate(users)]
    pulls[0]["order"] = {"id": 7, "group": {"id": "ann"}}
    memory.store(json.dumps(pulls), key="pulls")
    memory.store('[{"name": "ann", "city": "Rome"}]', key="people")
    assert rows == list(map(tuple, memory.query(sql)))


@pytest.mark.long
def test_many_members_of_json() -> None:
    """Members of a column's objects are found in time that is linear in their number."""
    member = {f"m{number}": number for number in range(1_000)}
    table = table_of(json.dumps([{"a": member}] * 40))

    def find(text: str) -> None:
        names = [f"a.m{number}" for number in range(len(text) // 20)]
        list(with_members(table, names).rows())

    assert_linear(find, "x")


def test_errors_are_short_sentences(memory: MemoryManager) -> None:
    """A description in an error is as short as in a reference, and what SQLite says ends without a period."""
    memory.store("x", "described " * 200, key="long")
    with pytest.raises(InvalidQueryError, match=r"long \(described .{,70}…\)"):
        memory.query("SELECT * FROM sale")
    with pytest.raises(InvalidQueryError, match=r"one statement at a time$"):
        memory.query("SELECT 1; SELECT 2")


def test_capitals_matter_in_keys(memory: MemoryManager) -> None:
    """Two tables whose names differ only in capitals are an error; a column or a string may look like the table."""
    memory.store("d,Y\n2026-01-31,1\n2025-02-01,2", key="y")
    memory.store("d,Y\n2024-01-31,1\n2023-02-01,2", key="Y")
    assert (("2026",),) == memory.query("SELECT strftime('%Y', d) FROM y WHERE Y = 1").rows
    with pytest.raises(InvalidQueryError, match="Y and y would be one table"):
        memory.query("SELECT y.d FROM y JOIN Y USING (d)")
    memory.store("[1, 2]", key="a")
    memory.store("[3, 4]", key="A")
    with pytest.raises(InvalidQueryError, match="A and a would be one table"):
        memory.query("SELECT value FROM a WHERE value IN A")


def test_behind_walls(memory: MemoryManager) -> None:
    """Notes of a project that is not open here are no table."""
    memory.store("a,b\n1,2\n3,4", key="plans", tier="project", tier_id="p1")
    assert 2 == len(memory.within([("project", "p1")]).query("SELECT * FROM plans"))
    with pytest.raises(InvalidQueryError, match="no such table"):
        memory.within([("project", "p2")]).query("SELECT * FROM plans")


def test_kept_answers(memory: MemoryManager) -> None:
    """An answer is kept with its statement and its sources, and may be queried and replaced; other keys are safe."""
    first = memory.query("SELECT city, total FROM sales WHERE total > 1", save_as="large")
    assert "large" == first.key
    item = memory.get("large")
    assert "city,total\nOslo,2\nRome,3" == item.content
    assert {"sql": first.sql, "sources": ["sales"]} == item.content_metadata
    assert [(5,)] == list(memory.query("SELECT sum(total) FROM large"))
    memory.query("SELECT city FROM sales", save_as="large")
    assert "city\nRome\nOslo\nRome" == memory.retrieve("large")
    with pytest.raises(KeyExistsError, match="choose another key, or forget it"):
        memory.query("SELECT 1 AS one", save_as="sales")


@for_each(
    "sql, rows",
    [
        ("SELECT city FROM sales WHERE total > 9", []),
        ("SELECT city, total FROM sales WHERE total > 9", []),
        ("SELECT count(*) FROM sales", [(3,)]),
        ("SELECT total FROM sales ORDER BY total", [(1,), (2,), (3,)]),
        ("SELECT 'count' AS city, count(*) FROM sales", [("count", 3)]),
        ('SELECT 5 AS "2024", 6 AS "2025"', [(5, 6)]),
        ("SELECT NULL AS a UNION ALL SELECT ' x' || char(10, 10) || 'y'", [(None,), (" x\n\ny",)]),
        ("SELECT 'a: 1' AS line UNION ALL SELECT '{\"b\": 2}'", [("a: 1",), ('{"b": 2}',)]),
    ],
)
def test_a_kept_answer_has_the_rows_that_it_had(sql: str, rows: list[tuple[Any, ...]]) -> None:
    """A kept answer of any shape has the same columns and rows again, also one column or no row, in a query and in `where`; its description counts them."""
    memory = MemoryManager("sqlite://", user_id="ann")
    memory.store("city,total\nRome,1\nOslo,2\nRome,3", key="sales")
    first = memory.query(sql, save_as="kept")
    again = memory.query("SELECT * FROM kept")
    assert (first.columns, rows) == (again.columns, list(again)) == (again.columns, list(first))
    assert memory.get("kept").summary.startswith(
        "1 row:" if len(rows) == 1 else f"{len(rows)} rows:"
    )
    assert [(len(rows),)] == list(memory.query("SELECT count(*) FROM kept"))
    assert f"n\n{len(rows)}" == memory.retrieve("kept", columns="count(*) AS n")


@for_each(
    "text, rows",
    [
        ("\ufeffa,b\n1,2,3\n4\n", [("1", "2,3"), ("4", None)]),
        ("a\n\nx\n", [("x",)]),
    ],
)
def test_a_kept_answer_may_be_edited(text: str, rows: list[tuple[Any, ...]]) -> None:
    """Of a kept answer that somebody edited by hand every cell is there, and no row is made of a blank line."""
    assert rows == [tuple(row) for row in table_of(text, is_answer=True).rows()]


def test_an_emptied_answer_has_no_rows() -> None:
    """A kept answer that somebody emptied is an error that says so."""
    with pytest.raises(InvalidSelectionError, match="this text has no rows"):
        table_of("", is_answer=True)


def test_reads_are_counted() -> None:
    """What a query reads counts as read, and stands in the audit trail."""
    memory = MemoryManager("sqlite://", user_id="ann", audit=True)
    memory.store("a,b\n1,2\n3,4", key="t")
    memory.query("SELECT count(*) FROM t")
    assert 1 == memory.get("t").access_count


@for_each("most", [200, 500, 2000])
def test_answer_for_a_model(most: int) -> None:
    """An answer says how many rows there are, shows what fits, and how to get the others."""
    memory = MemoryManager("sqlite://", user_id="ann")
    memory.store(as_csv(shop(3).orders), key="orders")
    verb_args = QueryArgs(sql="SELECT order_id, amount FROM orders", save_as="kept")
    answer = QUERYING.answer(memory, verb_args, most)
    assert memory.counter.count(answer.text) <= most
    [kept] = MemoryRef.find_all(answer.text)
    assert ("kept", "orders") == (kept.key, answer.keys[1])
    head, columns, *rows, more = answer.text.split("\n")[1:]
    assert f"rows 1-{len(rows)} of 3000" == head
    assert "order_id,amount" == columns
    assert f"OFFSET {len(rows)}" in more
    with pytest.raises(MemoryToolError, match="no such table"):
        QUERYING.answer(memory, QueryArgs(sql="SELECT * FROM x"), most)


def test_an_answer_is_whole_or_begun() -> None:
    """An answer that fits the largest page of `retrieve_memory` is whole; of a larger one, a short beginning is shown."""
    memory = MemoryManager("sqlite://", user_id="ann")
    memory.store(as_csv(shop(3).orders), key="orders")
    limit = answer_limit(QUERYING, None)
    whole = QUERYING.answer(memory, QueryArgs(sql="SELECT * FROM orders LIMIT 120"), limit).text
    assert whole.startswith("rows 1-120 of 120\n")
    page = QUERYING.answer(memory, QueryArgs(sql="SELECT * FROM orders"), limit).text
    assert 400 < memory.counter.count(page) <= 500
    assert 1050 == answer_limit(QUERYING, 500, 700)


@for_each("max_tokens, most", [(None, 500), (2000, 500), (300, 300)])
def test_a_large_answer_is_begun_in_every_host(
    sqlite_url: str, max_tokens: int | None, most: int
) -> None:
    """The beginning has 500 tokens, or as many as the caller allows if that is less; also from a loaded tool."""
    memory = MemoryManager(sqlite_url, user_id="ann")
    key = memory.store(as_csv(shop(3).orders))
    asked = {"sql": f"SELECT * FROM {key}"}
    limits: Any = {"max_tokens": max_tokens, "queries": True}
    by_name: dict[str, Any] = {tool.name: tool for tool in autogen_tools(memory, **limits)}
    autogen = by_name["query_memory"]
    loaded = type(autogen).load_component(autogen.dump_component())
    by_name = {tool.name: tool for tool in langchain_tools(memory, **limits)}
    answers = [
        by_name["query_memory"].invoke(asked),
        asyncio.run(autogen.run_json(asked, CancellationToken())),
        asyncio.run(loaded.run_json(asked, CancellationToken())),
    ]
    for answer in answers:
        assert most - 100 < memory.counter.count(answer) <= most


def test_a_large_answer_begins_with_a_whole_row() -> None:
    """If not one row fits into the beginning, the answer is as large as a whole one may be."""
    memory = MemoryManager("sqlite://", user_id="ann")
    words = " ".join(str(number) for number in range(400))
    memory.store(json.dumps([{"n": n, "words": words} for n in range(30)]), key="long")
    limit = answer_limit(QUERYING, None)
    page = QUERYING.answer(memory, QueryArgs(sql="SELECT * FROM long"), limit).text
    assert f"0,{words}\n1,{words}\n" in page
    assert memory.counter.count(page) <= limit


def test_a_row_that_is_too_long_is_cut() -> None:
    """One row with a long text is shown, its cells cut."""
    memory = MemoryManager("sqlite://", user_id="ann")
    memory.store(json.dumps([{"id": 1, "text": "word " * 5000}]), key="t")
    answer = QUERYING.answer(memory, QueryArgs(sql="SELECT * FROM t"), 200).text
    assert "word word" in answer
    assert memory.counter.count(answer) <= 200


SQL = "SELECT region, sum(total) AS total FROM {key} GROUP BY region ORDER BY region"


def export_orders() -> str:
    """Export all orders."""
    rows = [f"{n:05d},{'north' if n % 2 else 'south'},{n % 7}" for n in range(2000)]
    return "\n".join(["order_id,region,total", *rows])


def _totals() -> list[list[str]]:
    totals = {"north": 0, "south": 0}
    for row in csv.DictReader(io.StringIO(export_orders())):
        totals[row["region"]] += int(row["total"])
    return [["north", str(totals["north"])], ["south", str(totals["south"])]]


def _rows_in(answer: str) -> list[list[str]]:
    return list(csv.reader(answer.strip().split("\n")[-2:]))


COLUMNS = "Columns: order_id text, region text, total number. First row: 00000, south, 0"


@pytest.mark.long
async def test_autogen() -> None:
    """An AutoGen agent gets totals of an output that never enters its prompt."""
    fold = FoldPolicy(queries=True)
    context = MemoryContext("ann", store="sqlite://", fold=fold)

    def ask(messages: Any) -> list[FunctionCall]:
        [ref] = MemoryRef.find_all(str(messages[-1].content[0].content))
        assert COLUMNS in messages[-1].content[0].content
        sql = SQL.format(key=ref.key)
        return [FunctionCall(id="2", name="query_memory", arguments=json.dumps({"sql": sql, "save_as": ""}))]  # fmt: skip

    client = ScriptedChatClient(
        [[FunctionCall(id="1", name="export_orders", arguments="{}")], ask, "Done."]
    )
    tools = [FunctionTool(export_orders, "Export all orders.")]
    agent = AssistantAgent(
        "clerk", model_client=client, model_context=context, workbench=context.workbench(tools), max_tool_iterations=5,
    )  # fmt: skip
    await agent.run(task="Total by region?")

    last: Any = client.prompts[-1][-1]
    answer = str(last.content[0].content)
    assert _totals() == _rows_in(answer)
    assert context._manager.counter.count(str(client.prompts[-1])) < 2500  # noqa: SLF001
    assert [("north",), ("south",)] == list(
        await context.query('SELECT DISTINCT region FROM "export_orders*" ORDER BY 1')
    )


def test_langchain() -> None:
    """A LangChain agent gets totals of an output that never enters its prompt."""
    middleware = MemoryContextMiddleware("sqlite://", user_id="ann", fold=FoldPolicy(queries=True))

    def ask(messages: Any) -> Any:
        [ref] = MemoryRef.find_all(str(messages[-1].content))
        assert COLUMNS in messages[-1].content
        return [call("query_memory", "2", sql=SQL.format(key=ref.key))]

    model = ScriptedChatModel([[call("export_orders", "1")], ask, "Done."])
    exporting = langchain_tool("export_orders")(export_orders)
    agent = create_agent(model, [exporting], middleware=[middleware])
    state = agent.invoke({"messages": [HumanMessage("Total by region?")]})
    assert _totals() == _rows_in(str(state["messages"][-2].content))


async def test_agent_framework() -> None:
    """An agent of Agent Framework gets totals of an output that never enters its prompt."""
    from agent_framework import Agent, tool  # noqa: PLC0415
    from agent_framework.openai import OpenAIChatCompletionClient  # noqa: PLC0415

    memory = MemoryContextProvider("sqlite://", user_id="ann", fold=FoldPolicy(queries=True))
    with ScriptedProvider([calling("export_orders", "c1"), {"content": "Kept."}]) as provider:
        client = OpenAIChatCompletionClient(model="gpt-4o", api_key="none", base_url=provider.url)
        exporting = tool(approval_mode="never_require")(export_orders)
        agent = Agent(client, tools=[exporting], context_providers=[memory])
        session = agent.create_session()
        await agent.run("Export.", session=session)
        [ref] = MemoryRef.find_all(json.dumps(provider.asked[-1]["messages"]))
        sql = SQL.format(key=ref.key)
        provider.script = [calling("query_memory", "c2", sql=sql), {"content": "Done."}]
        await agent.run("Total by region?", session=session)
    assert [] == provider.refused
    assert _totals() == _rows_in(provider.asked[-1]["messages"][-1]["content"])


def test_schema_is_small() -> None:
    """The tool's schema takes some hundred tokens of each call."""
    told = {
        "name": QUERYING.name,
        "description": QUERYING.description,
        "parameters": QueryArgs.model_json_schema(),
    }
    assert MemoryManager("sqlite://", user_id="a").counter.count(json.dumps(told)) <= 130


def test_command_line(sqlite_url: str) -> None:
    """The command prints a table, JSON or CSV, and says what was kept."""
    memory = MemoryManager(sqlite_url, user_id="ann")
    memory.store("city,total\nRome,1\nOslo,2", key="sales")
    sql = "SELECT city, total FROM sales ORDER BY total DESC"
    shown = in_this_process("query", sql, "--store", sqlite_url)
    assert ["city", "total", "Oslo", "2", "Rome", "1"] == shown.stdout.split()
    assert "2 rows" in shown.stderr
    shown = in_this_process("query", sql, "--store", sqlite_url, "--csv", "--save-as", "kept")
    assert "city,total\nOslo,2\nRome,1\n" == shown.stdout
    assert "kept as kept" in shown.stderr
    shown = in_this_process("query", sql, "--store", sqlite_url, "--json")
    told = json.loads(shown.stdout)
    assert [["Oslo", 2], ["Rome", 1]] == told["rows"]
    assert ["sales"] == told["sources"]
    shown = in_this_process("query", "SELECT x FROM sales", "--store", sqlite_url)
    assert 2 == shown.returncode
    assert "no such column: x" in shown.stderr
    shown = in_this_process("query", f"{sql} LIMIT 0", "--store", sqlite_url)
    assert 1 == shown.returncode


def test_result_is_public() -> None:
    """What a query gives is one of the public names."""
    assert isinstance(MemoryManager("sqlite://", user_id="a").query("SELECT 1 AS one"), QueryResult)


@for_each(
    "sql",
    [
        'SELECT sum("price") FROM t',
        'SELECT region FROM t WHERE "price" > 100',
        'SELECT count("price") FROM t',
        'SELECT region FROM t ORDER BY "price"',
        'SELECT (SELECT max(u."price") FROM t AS u) FROM t',
        'SELECT /* " */ \'it\'\'s "unit price"\', [unit price], "price" FROM t',
    ],
)
def test_quoted_names_are_columns(sql: str) -> None:
    """A name in double quotes that is no column is an error that names the columns, never a text."""
    memory = MemoryManager("sqlite://", user_id="ann")
    memory.store('region,unit price,say "a`b"\nNorth,2.5,3\nSouth,4.5,1', key="t")
    with pytest.raises(InvalidQueryError, match=r"no such column: .*unit price \(2\.5\)"):
        memory.query(sql)
    with pytest.raises(InvalidSelectionError, match="no such column"):
        memory.retrieve("t", where='"price" > 100')
    answer = memory.query('SELECT "unit price" AS "x y", "say ""a`b""" FROM t ORDER BY "x y"')
    assert [(2.5, 3), (4.5, 1)] == list(answer)


def test_texts_in_double_quotes() -> None:
    """A text in double quotes is an error that says how to write it."""
    memory = MemoryManager("sqlite://", user_id="ann")
    memory.store("region,n\nNorth,2\nSouth,4", key="t")
    with pytest.raises(InvalidQueryError, match=r"no such column: .*'North'"):
        memory.query('SELECT n FROM t WHERE region = "North"')


def test_a_long_name_of_a_column_is_told_whole() -> None:
    """An error names a column of a survey, which is a whole question, as the query must spell it."""
    question = "How satisfied are you with the delivery of your last order (1 to 5)?"
    with MemoryManager("sqlite://", user_id="ann") as memory:
        memory.store(f"{question},city\n4,Rome\n5,Oslo\n", key="survey")
        with pytest.raises(InvalidQueryError) as refused:
            memory.query("SELECT avg(satisfied) FROM survey")
        assert f"has the columns {question} (4), city (Rome)" in str(refused.value)
        assert list(memory.query(f'SELECT avg("{question}") FROM survey')) == [(4.5,)]


def test_a_refusal_is_of_its_own_statement() -> None:
    """A statement is never refused for what was wrong with the one before it on the same database."""
    table = table_of("n\n1\n2")
    with locked_database.LockedDatabase({"t": table}.get, TimeLimit(20)) as database:
        with pytest.raises(InvalidQueryError, match="CAST would take"):
            database.select("SELECT CAST('1,200' AS REAL) FROM t")
        with pytest.raises(InvalidQueryError, match="no such column"):
            database.select("SELECT `user-defined function` FROM t")
