"""Partial reads: lines, matches, JSONPath, rows and questions; within a budget, page by page, and safe to ask."""

from __future__ import annotations

import base64
import csv
import io
import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from examples import examples
from for_each import for_each
from memory_context import exceptions
from memory_context import sentences_models_read as prompts
from memory_context.model.item import MemoryItem, count_lines
from memory_context.model.selection import Cost, Page, Selection
from memory_context.text.read.abridged_values import abridged
from memory_context.text.read.read_by_selection import answer, read_part
from memory_context.text.tokens.counter import default_counter

COUNT = default_counter().count
LOG = "\n".join(
    f"12:00:{i % 60:02} worker-{i} {'ERROR' if i % 50 == 7 else 'ok'}" for i in range(400)
)
ROWS = [
    {"id": i, "name": f"n{i}", "total": i * 1.5, "at": {"city": "Berlin" if i % 2 else "Rome"}}
    for i in range(60)
]
CSV = "id,name,total\n" + "\n".join(f'00{i},"last, first {i}",{i}.50' for i in range(60))
MARKDOWN = (
    "# Stock\n\n| name | in stock |\n|:-----|---:|\n| bolt | 9 |\n| nut\\|M3 | 12 |\n\nThat is all."
)

WORDS = [
    "word ",
    "\n",
    "\n\n",
    "Straße",
    "STRASSE",
    "İ",
    "中文",
    "é",
    "e\u0301",
    "x" * 300,
    "\ud800",
    "{",
    '"',
    "a,b",
    "7",
]
texts = st.lists(st.sampled_from(WORDS) | st.text(max_size=5), max_size=40).map("".join)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: (
        st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=8), inner, max_size=6)
    ),
    max_leaves=30,
)
slow = examples(100)


def read(text: str, budget: int | None = None, offset: int = 0, **selectors: Any) -> Page:
    """A page of `text`."""
    return read_part(text, Selection(**selectors), offset, budget, COUNT)


def pages(text: str, budget: int, cost: Cost = COUNT, **selectors: Any) -> Iterator[Page]:
    """All pages, each within the budget."""
    offset: int | None = 0
    while offset is not None:
        page = read_part(text, Selection(**selectors), offset, budget, cost)
        assert cost(page.text) <= budget
        assert page.next_offset is None or page.next_offset > offset
        yield page
        offset = page.next_offset


def numbers(pages: Iterator[Page]) -> list[int]:
    """The numbers of the matching lines that are shown."""
    return [int(n) for page in pages for n in re.findall(r"^(\d+): ", page.text, re.MULTILINE)]


@for_each(
    "lines, expected",
    [
        ("2", "b"),
        ("2,4", "b\n…4\nd"),
        ("4,2-3", "b\nc\nd"),
        ("-1, 1", "a\n…5\ne"),
        ("4-,1-2", "a\nb\n…4\nd\ne"),
        ("1-3,2-4", "a\nb\nc\nd"),
        ("1,6", "a\n…6\n"),
    ],
)
def test_several_ranges(lines: str, expected: str) -> None:
    """Several ranges come in their order, each line once, with a mark where lines are left out."""
    assert (
        expected
        == read("a\nb\nc\nd\ne\n\n" if "6" in lines else "a\nb\nc\nd\ne\n", lines=lines).text
    )


@slow
@given(
    st.lists(st.tuples(st.integers(1, 90), st.integers(0, 20)), min_size=1, max_size=8),
    st.integers(60, 200),
)
def test_pages_of_ranges_give_each_line_once(ranges: list[tuple[int, int]], budget: int) -> None:
    """Pages of several ranges hold each line that was asked for once, in order, whatever the ranges overlap."""
    text = "\n".join(f"line {i}" for i in range(1, 91)) + "\n"
    asked = ",".join(f"{first}-{first + more}" for first, more in ranges)
    wanted = {i for first, more in ranges for i in range(first, min(first + more, 90) + 1)}
    shown = [line for page in pages(text, budget, lines=asked) for line in page.text.split("\n")]

    assert [f"line {i}" for i in sorted(wanted)] == [
        line for line in shown if line.startswith("line ")
    ]


def test_contains() -> None:
    """Lines come with their numbers, however they are capitalised."""
    page = read(LOG, contains="error", budget=60)

    assert page.text.startswith("8: 12:00:07 worker-7 ERROR\n58: ")
    assert 8 == page.total
    assert page.part.startswith("matching lines 1-")
    assert [8, 58, 108, 158, 208, 258, 308, 358] == numbers(pages(LOG, 60, contains="error"))


@for_each(
    "text, wanted",
    [
        ("Die STRASSE ist lang", "straße"),
        ("Die Straße ist lang", "STRASSE"),
        ("caf\u00e9", "CAFE\u0301"),
        ("ΣΊΣΥΦΟΣ", "σίσυφος"),
        ("İstanbul", "i\u0307stanbul"),
        ("one\nTWO\nthree", "two\nTH"),
        (json.dumps("in Zürich"), "zürich"),
        (json.dumps({"a": 'the "A" team'}), 'THE "a"'),
    ],
)
def test_contains_is_caseless_as_unicode_has_it(text: str, wanted: str) -> None:
    """Full case folding and canonical equivalence, also over several lines, and in strings that JSON has escaped."""
    assert read(text, contains=wanted).total == wanted.count("\n") + 1


def test_similar_lines_below_a_letter_that_is_longer_in_lower_case() -> None:
    """The lines that an error shows are those with the words, also below letters such as a dotted capital I."""
    text = "İ" * 30 + "\nalpha beta\ngamma delta\n"
    with pytest.raises(exceptions.NothingMatchedError, match=r"\n2: alpha beta$"):
        read(text, contains="alpha betas")


def test_context() -> None:
    """Neighbours are marked by a hyphen, windows that touch are one, and a mark stands where lines are left out."""
    text = "a\nhit 1\nb\nc\nhit 2\nd\ne\nf\ng\nhit 3"

    assert (
        "1- a\n2: hit 1\n3- b\n4- c\n5: hit 2\n6- d\n…\n9- g\n10: hit 3"
        == read(text, contains="HIT", context=1).text
    )
    assert "1: x\n2: x\n3- y" == read("x\nx\ny", pattern="x", context=5).text


def folded(text: str) -> str:
    """Canonical caseless matching: Unicode Standard, section 3.13, D145."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", text).casefold())


@slow
@given(
    texts,
    st.sampled_from(["word", "strasse", "é", "中", "7", "x", "\n", "a,b\n"]),
    st.integers(0, 3),
    st.integers(90, 300),
)
def test_every_match_comes_once(text: str, wanted: str, context: int, budget: int) -> None:
    """Whatever the text, the pages of `contains` hold each matching line once, within the budget."""
    low, lines = folded(text), text.split("\n")
    expected = sorted(
        {
            low.count("\n", 0, m.start()) + k + 1
            for m in re.finditer(f"(?={re.escape(folded(wanted))})", low)
            for k in range(wanted.count("\n", 0, len(wanted) - 1) + 1)
        }
    )
    assume(not any(re.match(r"\d+: ", line) for line in lines))
    if not expected:
        with pytest.raises(exceptions.NothingMatchedError):
            read(text, contains=wanted)
        return
    found = numbers(pages(text, budget, contains=wanted, context=context))
    assert len(found) == len(set(found))
    if "\n" not in wanted:
        assert expected == found


@slow
@given(
    texts,
    st.sampled_from([r"\w+", r"^$", "o.*d", r"(?i)STRASSE", r"[^x]+", r"d \n", "$", r"x{300}"]),
    st.integers(90, 200),
)
def test_every_line_that_a_pattern_touches_comes_once(text: str, pattern: str, budget: int) -> None:
    """Pages of `pattern` hold each line once, within the budget, and as many as are counted."""
    assume(not any(re.match(r"\d+: ", line) for line in text.split("\n")))
    try:
        found = list(pages(text, budget, pattern=pattern))
    except exceptions.NothingMatchedError:
        return
    shown = numbers(iter(found))
    assert shown == sorted(set(shown))
    assert len(shown) == found[0].total
    assert shown[-1] <= count_lines(text)


def test_members_with_keys_that_begin_alike_stay_apart() -> None:
    """Where an object has no room, its long keys are cut, but none of its members takes the place of another one."""
    prefix = "key_of_a_setting_" * 5
    shown = abridged({f"{prefix}a": 1, f"{prefix}b": 2}, limit=100, depth=2)
    assert [1, 2] == list(shown.values())


@for_each("pattern", ["failed$", r"^b.*d$", r"ok$\n^b", r"failed\r\n", "b fail.d$"])
def test_line_ends_of_windows(pattern: str) -> None:
    """Before a carriage return and a line feed a line ends; who looks for the two finds them."""
    assert "2: b failed" in read("a ok\r\nb failed\r\nc ok\r\n", pattern=pattern).text


@for_each(
    "selectors, shown",
    [
        ({"contains": "b failed"}, "b failed"),
        ({"pattern": "^b failed$"}, "b failed"),
        ({"query": "did b fail?"}, "b failed"),
        ({"contains": "\x1b[31mfailed"}, "b \x1b[31mfailed\x1b[39m"),
        ({"pattern": r"\x1b\[31mfailed"}, "b \x1b[31mfailed\x1b[39m"),
        ({"pattern": r"\033\[31m"}, "b \x1b[31mfailed\x1b[39m"),
        ({"lines": "2"}, "b \x1b[31mfailed\x1b[39m"),
    ],
)
def test_colours_of_a_terminal(selectors: dict[str, Any], shown: str) -> None:
    """Lines match by their words, and are shown without colours, unless these are asked for; lines by number are exact."""
    text = "a \x1b[32mok\x1b[39m\nb \x1b[31mfailed\x1b[39m\nc \x1b[32mok\x1b[39m\n"
    assert shown in read(text, **selectors).text


def test_a_long_line_is_shown_around_its_match() -> None:
    """Of a line of a megabyte comes what stands around the match, with what is missing to both sides."""
    line = "x" * 600_000 + " NEEDLE " + "ß" * 400_000

    asked: list[dict[str, Any]] = [{"contains": "needle"}, {"pattern": "NE+DLE"}]
    for selectors in asked:
        page = read(line, budget=100, **selectors)
        assert " NEEDLE " in page.text
        assert COUNT(page.text) <= 100
        assert 2 == page.text.count("characters not shown")


@for_each(
    "pattern, said",
    [
        ("(a", "at position 2 ((a⟨here⟩)"),
        ("a**", "at position 2"),
        ("[z-a]", "bad character range"),
        (r"\N{FOO}", "at"),
    ],
)
def test_pattern_that_is_none(pattern: str, said: str) -> None:
    """An invalid pattern is answered with the position of the mistake."""
    with pytest.raises(exceptions.InvalidSelectionError, match=re.escape(said)):
        read("a", pattern=pattern)


@pytest.mark.long
@for_each("pattern", ["(a+)+$", "(a|aa)+c", "(?:a?){30}a{30}b", "(.|a)*(.|a)*c"])
def test_catastrophic_patterns_end(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pattern that would run for ever is stopped, also on one line of ten megabytes."""
    monkeypatch.setattr(
        "memory_context.text.read.read_time_limit.TimeLimit.__init__.__defaults__", (0.3,)
    )
    with pytest.raises((exceptions.SelectionTimeoutError, exceptions.NothingMatchedError)):
        read("a" * 10_000_000 + "!", pattern=pattern)


def test_path() -> None:
    """A path that can find one value gives it; another gives a list."""
    text = json.dumps({"items": ROWS, "total": 60})

    assert '"n3"' == read(text, path="$.items[3].name").text
    assert '["n0", "n1"]' == read(text, path="$.items[:2].name").text
    assert "[3]" == read(text, path='$.items[?search(@.name, "^n3$")].id').text
    assert "60" == read(text, path="$['total']").text


@for_each(
    "text",
    [
        json.dumps({"a": {"b": [1, 2]}}),
        repr({"a": {"b": (1, 2)}, "c": None}),
        json.dumps({"content": [{"type": "text", "text": json.dumps({"a": {"b": [1, 2]}})}]}),
        json.dumps(
            [{"type": "text", "text": json.dumps({"a": {"b": [1, 2]}}), "annotations": None}]
        ),
        json.dumps({"a": {"b": [1, 2]}}, indent=2),
    ],
)
def test_path_into_what_tools_give(text: str) -> None:
    """JSON, Python's repr, and both inside an MCP result."""
    assert "[1, 2]" == read(text, path="$.a.b").text


def test_path_into_json_lines() -> None:
    """The root is the list of records; a path that finds nothing there is tried on each of them."""
    text = '{"a": 1}\n\n{"a": 2}\n{"b": 3}\n'

    assert "[1, 2]" == read(text, path="$[*].a").text == read(text, path="$.a").text
    assert "3" == read(text, path="$[2].b").text


def test_path_into_objects_in_sequence() -> None:
    """Objects over several lines, one after the other, as FastMCP returns a list, are read as JSON lines are."""
    text = "\n".join(json.dumps({"a": number}, indent=2) for number in (1, 2))

    assert "[1, 2]" == read(text, path="$[*].a").text == read(text, path="$.a").text
    assert "2" == read(text, path="$[1].a").text


def test_path_that_finds_nothing() -> None:
    """The answer says how far the path leads, and which keys are there."""
    text = json.dumps({"data": {"items": ROWS}})
    with pytest.raises(
        exceptions.NothingMatchedError,
        match=r"leads to \$\['data'\], where there is an object with the keys items\.",
    ):
        read(text, path="$.data.rows[0].id")
    with pytest.raises(
        exceptions.NothingMatchedError,
        match="a list of 60, of objects with the keys id, name, total",
    ):
        read(text, path="$.data.items.name")


@for_each(
    "path", ["items", "$.", "$[", "$[?@.a = 1]", "", "$" + "[" * 5000, "$.a$", "$[?nofunction(@)]"]
)
def test_path_that_is_none(path: str) -> None:
    """What is no JSONPath is refused; the error shows how to write one, also with a hyphen in a name."""
    with pytest.raises(exceptions.InvalidSelectionError):
        read("{}", path=path)
    with pytest.raises(exceptions.InvalidSelectionError, match=r"or \$\.items"):
        read('{"a-b": 1}', path="$.a-b")
    assert "1" == read('{"a-b": 1}', path="$['a-b']").text


@pytest.mark.long
@for_each(
    "path",
    [
        "$..*..*..*..*",
        "$..[?count($..*) > 1e9]",
        '$[?search(@.s, "(a+)+$")]',
        "$..[?count(@..*..*) == 1e9]",
        "$..*..[?@.x]",
    ],
)
def test_paths_that_take_long_end(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path that would visit the same values again and again, or holds a bad pattern, is stopped."""
    monkeypatch.setattr(
        "memory_context.text.read.read_time_limit.TimeLimit.__init__.__defaults__", (0.3,)
    )
    value = [[[{"s": "a" * 5000 + "!"}, *range(200)] for _ in range(20)] for _ in range(20)]
    value.append({"s": "a" * 5000 + "!"})  # type: ignore[arg-type]
    with pytest.raises((exceptions.SelectionTimeoutError, exceptions.NothingMatchedError)):
        read(json.dumps(value), path=path)


@slow
@given(values, st.integers(60, 200), st.sampled_from(["$", "$[*]", "$..*", "$.*[*]"]))
def test_pages_of_values_are_json_and_give_all(value: Any, budget: int, path: str) -> None:
    """Each page is valid JSON within the budget; together they hold as many values as were found."""
    text = json.dumps([value], allow_nan=True)
    try:
        found = list(pages(text, budget, path=path))
    except exceptions.NothingMatchedError:
        return
    got = [json.loads(page.text, parse_constant=pytest.fail) for page in found]
    if len(got) > 1 and isinstance(got[0], list | str | dict):
        assert found[0].total == sum(map(len, got))


def test_values_too_large_for_a_page_come_in_parts() -> None:
    """A list is paged by elements, an object by members, a text by characters; together they are the value."""
    text = json.dumps(
        {"list": ROWS, "text": "ab\n" * 2000, "object": {f"k{i}": i for i in range(300)}}
    )

    def parts(path: str) -> list[Any]:
        return [json.loads(page.text) for page in pages(text, 120, path=path)]

    assert ROWS == [row for part in parts("$.list") for row in part]
    assert "ab\n" * 2000 == "".join(parts("$.text"))
    assert {f"k{i}": i for i in range(300)} == {
        k: v for part in parts("$.object") for k, v in part.items()
    }
    assert 3 == len([key for part in parts("$") for key in part])


def rows_of(page: Page) -> list[list[str]]:
    """The rows of a page, without the names."""
    return list(csv.reader(io.StringIO(page.text)))[1:]


@for_each(
    "text, where, columns, expected",
    [
        (json.dumps(ROWS), "total > 85", "id, total", "id,total\n57,85.5\n58,87.0\n59,88.5"),
        (json.dumps({"n": 1, "items": ROWS}), "id = 3", "name", "name\nn3"),
        ("\n".join(map(json.dumps, ROWS)), "name = 'n7'", "id", "id\n7"),
        (repr(ROWS[:5]), "id = 4", "name", "name\nn4"),
        (
            json.dumps(ROWS),
            "at ->> 'city' = 'Rome' AND id < 3",
            "id, at",
            'id,at\n0,"{""city"": ""Rome""}"\n2,"{""city"": ""Rome""}"',
        ),
        (
            CSV,
            "total > 58",
            None,
            'id,name,total\n0058,"last, first 58",58.5\n0059,"last, first 59",59.5',
        ),
        (CSV, "id = '007'", "ID", "id\n007"),
        (CSV.replace(",", "\t"), "total < 1", "total", "total\n0.5"),
        (MARKDOWN, '"in stock" > 9', None, "name,in stock\nnut|M3,12"),
        (MARKDOWN, None, '"in stock"', "in stock\n9\n12"),
        (CSV, None, "count(*) AS n, max(total)", "n,max(total)\n60,59.5"),
        (
            CSV,
            "id='003'",
            "upper(name), total * 2 AS twice",
            'upper(name),twice\n"LAST, FIRST 3",7.0',
        ),
        (json.dumps([{"type": "text", "text": "a,b\n1,2\n3,4"}]), "a > 1", "b", "b\n4"),
        ("[3, 10, 200]", "value > 9", None, "value\n10\n200"),
        ("[[1, 2], [3]]", "column1 = 3", None, "column1,column2\n3,"),
        ("a,b\n1,\n2,x\n,y\nN/A,z", "a > 0", "*", "a,b\n1,\n2,x"),
        ('[{"a": 1, "A": 2}]', None, None, "a,A_2\n1,2"),
        (
            '[{"x": 18446744073709551616, "t": true, "s": "\\ud800"}]',
            "t",
            "x, s",
            "x,s\n18446744073709551616,?",
        ),
        ('[{"odd \\"name": 5}]', '"odd ""name" = 5', '"odd ""name"', '"odd ""name"\n5'),
    ],
)
def test_rows(text: str, where: str | None, columns: str | None, expected: str) -> None:
    """Rows come as CSV, with the numbers that a query gives; columns of numbers compare as numbers."""
    assert expected == read(text, where=where, columns=columns or (None if where else "*")).text


@for_each(
    "where",
    [
        *(
            "1; DROP TABLE data",
            "1) UNION SELECT 1 --",
            "/* x",
            "(1",
            "1)",
            "",
            " ",
            "'",
            '"',
            "[id",
            "`",
        ),
        *(
            "EXISTS (SELECT name FROM sqlite_master)",
            "id IN sqlite_master",
        ),
        *(
            "load_extension('x')",
            "writefile('x', 'y')",
            "readfile('/etc/passwd')",
            "randomblob(1000000000)",
        ),
        *(
            "length(replace(hex(zeroblob(1e9)), '0', 'xxxx'))",
            "nosuch > 1",
            "id >",
            "id ORDER BY 1",
            "1 LIMIT 1",
            "sqlite_version()",
        ),
        *(
            "fts3_tokenizer('x')",
            "id = ?",
            "id = :x",
            "\0",
            "\ud800",
            "id MATCH 'x'",
            "name REGEXP 'x'",
            "(id, name)",
            "raise(abort, 'x')",
        ),
        *(
            "abs(-9223372036854775807 - 1)",
            "json_extract(name, '$.x')",
            "1" + " AND 1" * 1500,
            "(" * 300 + "1" + ")" * 300,
        ),
    ],
)
def test_conditions_that_are_refused(where: str) -> None:
    """What is no expression over the table, and what reaches for more, is refused; nothing else is raised."""
    asked: list[dict[str, Any]] = [{"where": where}, {"columns": where}]
    for selectors in asked:
        with pytest.raises((exceptions.InvalidSelectionError, exceptions.SelectionTimeoutError)):
            read(json.dumps([{"id": 1, "name": "x"}]), **selectors)


@pytest.mark.long
@for_each(
    "expression",
    [
        "length(replace(replace(replace(s, 'a', 'bbbbbbbbbb'), 'b', 'cccccccccc'), 'c', 'dddddddddd')) > 0",
        "instr(s, substr(s, 1, 300000) || 'b') > 0",
        "trim(s, substr(s, 1, 100000) || 'b') = ''",
        "s LIKE '%" + "_a%" * 60 + "b'",
        "s GLOB '*" + "[a-b]*" * 30 + "c'",
        "length(hex(s) || hex(s) || hex(s)) > 1",
    ],
)
def test_expressions_that_take_long_end(expression: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One row with a long text is enough for many a bomb; each one ends."""
    monkeypatch.setattr(
        "memory_context.text.read.read_time_limit.TimeLimit.__init__.__defaults__", (0.3,)
    )
    text = json.dumps([{"s": "a" * 1_000_000, "i": i} for i in range(3)])
    with pytest.raises(exceptions.MemoryContextError):
        read(text, where=f"({expression}) AND i < 0")


def test_a_query_that_takes_long_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many rows under an expensive expression end with the deadline."""
    monkeypatch.setattr(
        "memory_context.text.read.read_time_limit.TimeLimit.__init__.__defaults__", (0.05,)
    )
    text = "s,t\n" + "\n".join("abcabc,x" for _ in range(100_000))
    costly = " OR ".join(f"upper(lower(s)) LIKE '%{i}%'" for i in range(40))
    with pytest.raises(exceptions.SelectionTimeoutError):
        read(text, where=costly)


@for_each(
    "columns",
    [
        "city, sum(total)",
        "sum(total), city",
        '"city", count(*)',
        "city || count(*)",
        "upper(city), max(total)",
        "*, avg(total)",
        "city, count(*) FILTER (WHERE total > 1)",
    ],
)
def test_a_column_beside_an_aggregate_is_refused(columns: str) -> None:
    """SQLite would give the total of all rows with the city of any one of them."""
    text = "city,total\nRome,1\nBerlin,2\nRome,3"
    with pytest.raises(exceptions.InvalidSelectionError, match="one value for all rows"):
        read(text, columns=columns)


@for_each(
    "columns, expected",
    [
        ("sum(total), count(*)", "6,3"),
        ("max(total, 2)", "2\n2\n3"),
        ("max(sum(total), 2)", "6"),
        ("'city, sum(' || count(*)", '"city, sum(3"'),
        ("group_concat(city, ' ')", "Rome Berlin Rome"),
        ("count(*) FILTER (WHERE city = 'Rome')", "2"),
    ],
)
def test_aggregates_by_themselves(columns: str, expected: str) -> None:
    """Aggregates stand alone or together; scalar functions are none."""
    text = "city,total\nRome,1\nBerlin,2\nRome,3"
    assert read(text, columns=columns).text.split("\n", 1)[1] == expected


def test_columns_are_told() -> None:
    """An unknown column, and a condition that holds nowhere, are answered with the columns that there are."""
    for where in ("nosuch = 1", "id = 999"):
        with pytest.raises(
            exceptions.MemoryContextError, match=r"id \(0\), name \(n0\), total \(0.0\)"
        ):
            read(json.dumps(ROWS), where=where)


@for_each("columns", ["order id", "group"])
def test_names_that_need_quotes_are_told(columns: str) -> None:
    """A name that SQL cannot read is answered with the columns, and with how such a name is written."""
    text = "order id,group\n1,a\n2,b"
    told = r'"group" needs double quotes; data has the columns order id \(1\), group \(a\)'
    with pytest.raises(exceptions.InvalidSelectionError, match=told):
        read(text, columns=columns)
    assert read(text, columns=f'"{columns}"').text.startswith(columns)


def test_texts_without_rows() -> None:
    """An empty text is said to have none."""
    for text in ("", " \n"):
        with pytest.raises(exceptions.InvalidSelectionError, match="no rows"):
            read(text, where="1")


@slow
@example([("\r", 0, 0.0)], 60)
@given(
    st.lists(
        st.tuples(st.text(max_size=300), st.integers(), st.floats(allow_nan=False)),
        min_size=1,
        max_size=30,
    ),
    st.integers(60, 300),
)
def test_pages_of_rows_give_each_row_once(rows: list[tuple[str, int, float]], budget: int) -> None:
    """Each page is CSV under the names, within the budget; together they hold each row once, in order."""
    text = json.dumps([{"n": n, "name": name, "x": x} for n, (name, _, x) in enumerate(rows)])
    shown = [row for page in pages(text, budget, where="n >= 0") for row in rows_of(page)]

    assert list(range(len(rows))) == [int(row[0]) for row in shown]


hostile = st.text(max_size=60) | st.lists(
    st.sampled_from(
        [
            *"()[]'\"`;,*?+|$@.%_^\\",
            "a",
            "id",
            "name",
            " ",
            " or ",
            "select ",
            "from data",
            "--",
            "..",
            "1",
            "\n",
            "\0",
        ]
    ),
    max_size=25,
).map("".join)


@examples(300)
@given(
    hostile,
    st.sampled_from(["where", "columns", "path", "pattern", "contains", "lines", "query"]),
    st.integers(0, 300),
)
def test_any_selector_is_answered_or_refused(asked: str, name: str, budget: int) -> None:
    """Whatever is asked of whatever text, there is an answer within the budget, or an error of ours."""
    for text in (json.dumps(ROWS[:5]), CSV[:300], LOG[:2000], "", "\ud800\n\0"):
        try:
            page = read_part(text, Selection(**{name: asked}), 0, budget, COUNT)  # type: ignore[arg-type] # a text's
        except exceptions.MemoryContextError:
            continue
        assert COUNT(page.text) <= budget


@slow
@given(
    texts | st.sampled_from([LOG, json.dumps(ROWS), CSV, MARKDOWN]),
    st.sampled_from(
        [
            {},
            {"lines": "1-"},
            {"lines": "1,3,5-7,-2"},
            {"contains": "o"},
            {"pattern": ".", "context": 2},
            {"path": "$..*"},
            {"path": "$"},
            {"where": "1"},
            {"columns": "*, 1"},
            {"query": "worker-7"},
            {"contains": "zzz" * 300},
            {"lines": "-1"},
        ]
    ),
    st.integers(0, 5000),
    st.integers(200, 700),
    st.sampled_from(["k", "k" * 255, "0b1f6bf4-0e6d-4d43-9f67-7c1d2c5a3e11"]),
)
def test_an_answer_never_exceeds_its_tokens(
    text: str, selectors: dict[str, Any], offset: int, most: int, key: str
) -> None:
    """With its frame, for any text, key, selector and offset, an answer takes no more than it may."""
    item = MemoryItem(user_id="ann", memory_key=key, content=text, summary="a summary " * 7)
    try:
        shown = answer(item, Selection(**selectors), offset, most, COUNT)
    except exceptions.MemoryContextError:
        return
    assert COUNT(shown) <= most


def test_an_answer_names_key_part_and_next_call() -> None:
    """The frame names the memory, what part of how much it is, and the call that goes on."""
    item = MemoryItem(
        user_id="ann", memory_key="log_1", content=LOG, summary="a log", token_count=99
    )

    first = answer(item, Selection(contains="error", context=1), 0, 200, COUNT)

    assert first.startswith("[MemoryRef: log_1 - a log - 99 tokens]\nmatching lines 1-")
    assert re.search(
        r'\nThere is more\. Next page: retrieve_memory\(key="log_1", contains="error", context=1, offset=\d+\)$',
        first,
    )
    assert answer(item, Selection(lines="1"), 0, 200, COUNT).endswith(prompts.NO_MORE)
    short = MemoryItem(user_id="ann", memory_key="log_2", content="ok\nworker-7 failed\n")
    assert answer(short, Selection(query="worker-7"), 0, 200, COUNT).endswith(prompts.NO_MORE)
    # JSON on a single line has no other lines, but other paths.
    assert answer(item, Selection(query="worker-7"), 0, 200, COUNT).endswith(
        'Other parts: retrieve_memory(key="log_1", …)'
    )


def test_a_question_about_a_conversation_finds_the_whole_turn() -> None:
    """Of a stored conversation, a question finds what a person asked together with the answer, which may share no word."""
    said = [("user", "When is my dentist appointment?"), ("assistant", "On 3 May, at ten.")]
    for number in range(60):
        said += [("user", f"What is order {number}?"), ("assistant", f"It went to dock {number}.")]
    lines = [json.dumps({"role": role, "source": role, "texts": [text]}) for role, text in said]
    item = MemoryItem(user_id="ann", memory_key="talk_1", content="\n".join(lines))

    shown = answer(item, Selection(query="the dentist"), 0, 200, COUNT)

    assert "dentist appointment" in shown
    assert "On 3 May" in shown


def test_nothing_matched_is_an_answer() -> None:
    """A model is told that nothing matched and what comes near; it is no error."""
    item = MemoryItem(user_id="ann", memory_key="log_1", content=LOG)

    assert "\n8: 12:00:07 worker-7 ERROR" in answer(
        item, Selection(contains="erorr worker-7"), 0, 300, COUNT
    )
    assert "12:00:07" in answer(item, Selection(pattern="ERORR"), 0, 300, COUNT)


@for_each(
    "selectors",
    [
        {"lines": "1", "contains": "x"},
        {"path": "$", "where": "1"},
        {"pattern": "x", "columns": "a"},
        {"lines": "1", "query": "x"},
    ],
)
def test_one_selector_at_once(selectors: dict[str, str]) -> None:
    """More than one selector is refused, with their names."""
    with pytest.raises(exceptions.InvalidSelectionError, match="= and ".join(selectors)):
        Selection(**selectors)  # type: ignore[arg-type]


@for_each(
    "selectors",
    [
        {"contains": ""},
        {"pattern": ""},
        {"path": ""},
        {"where": ""},
        {"where": "1", "columns": ""},
        {"context": 2},
        {"contains": "x", "context": -1},
        {"contains": 5},
        {"lines": "1", "context": 1},
        {"where": "1" * 20_000},
        {"context": "2"},
    ],
)
def test_selectors_that_mean_nothing(selectors: dict[str, Any]) -> None:
    """Empty and misplaced selectors, and those of another type, are refused."""
    with pytest.raises(exceptions.InvalidSelectionError):
        Selection(**selectors)


@for_each("selectors", [{}, {"lines": "1-"}, {"contains": "ok"}, {"path": "$"}, {"where": "1"}])
def test_an_offset_behind_the_end(selectors: dict[str, Any]) -> None:
    """It is refused, with what there is."""
    text = LOG if selectors.keys() <= {"lines", "contains"} else json.dumps(ROWS)
    with pytest.raises(exceptions.InvalidSelectionError, match=r"offset=9000000 .* from 0 to \d+"):
        read(text, offset=9_000_000, **selectors)


PNG = (
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (640).to_bytes(4) + (480).to_bytes(4) + bytes(range(256)) * 3
)


@for_each(
    "content, said",
    [
        (PNG, "(image/png, 640 x 480 pixels, 792 bytes)"),
        (base64.b64encode(PNG).decode(), "(base64 of image/png, 640 x 480 pixels, 792 bytes)"),
        (
            f"data:image/png;base64,{base64.b64encode(PNG).decode()}",
            "(base64 of image/png, 640 x 480 pixels, 792 bytes)",
        ),
        (base64.encodebytes(PNG).decode(), "(base64 of image/png, 640 x 480 pixels, 792 bytes)"),
        (b"GIF89a\x02\0\x01\0" + b"\0" * 20, "(image/gif, 2 x 1 pixels, 30 bytes)"),
        (b"\xff\xd8\xff", "(image/jpeg, 3 bytes)"),
        (b"%PDF-1.7", "(application/pdf, 8 bytes)"),
        (b"\0\1", "(application/octet-stream, 2 bytes)"),
    ],
)
def test_binary_content_is_described(content: str | bytes, said: str) -> None:
    """Images, other bytes and texts in base64 are described, not shown; a part that is asked for is."""
    item = MemoryItem(
        user_id="ann", memory_key="k", content=content, media_type="application/octet-stream"
    )

    assert f"[MemoryRef: k]\nBinary content {said} cannot be shown as text." == answer(
        item, Selection(), 0, 200, COUNT
    ).replace(item.ref.render(), "[MemoryRef: k]")
    if isinstance(content, str):
        assert content[:20] in answer(item, Selection(lines="1"), 0, 200, COUNT)


@for_each(
    "text",
    ["abc " * 200, "a" * 300, "0123456789abcdef" * 40, LOG, "", "data:,x", "Abc1" * 63 + "é"],
)
def test_prose_is_no_base64(text: str) -> None:
    """Words, hashes and logs are shown as they are."""
    item = MemoryItem(user_id="ann", memory_key="k", content=text)

    assert "Binary" not in answer(item, Selection(), 0, 300, COUNT)


@for_each(
    "make", [lambda: read(LOG, contains="worker"), lambda: read(LOG), lambda: read(LOG, lines="2-")]
)
def test_unlimited_for_people(make: Callable[[], Page]) -> None:
    """Without a budget everything comes at once."""
    assert make().next_offset is None
