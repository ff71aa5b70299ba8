"""What a text is, in one line: the same one every time, for anything at all."""

from __future__ import annotations

import json
import re
import unicodedata
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from pytest_mock import MockerFixture

from described import (
    DATA,
    HTML,
    JEST,
    ORDERS,
    PYTEST,
    PYTHON,
    ROWS,
    SAMPLES,
    TRACEBACK,
    YAML,
    described,
    mcp,
    mcp_repr,
)
from examples import examples
from for_each import for_each
from growth import assert_linear
from memory_context.memory.manager import MemoryManager
from memory_context.model.item import Content
from memory_context.text import describe as describing
from memory_context.text.describe import Description, Kind, describe, identify
from memory_context.text.describe.description import counted, plural, singular
from memory_context.text.python_literals import parse_literal, read_literal

PACKAGES = [{"name": "left-pad", "version": "1.3.0"}, {"name": "react", "version": "19.0.0"}]
PIECES = [
    *"{}[]()1,:*\n\t\0\ud800|-$<",
    "'a'",
    '"b"',
    "b'x'",
    "\\d",
    "None",
    "0x",
    " is ",
    "12:00 ",
    "a.py:1: ",
    "# ",
]
TEXTS = [text for _, text, _ in SAMPLES]

any_text = st.text(st.characters(exclude_categories=()))
tricky_text = st.lists(st.sampled_from(PIECES) | any_text, max_size=12).map("".join)
in_brackets = st.builds("{}{}{}".format, st.sampled_from("[{"), tricky_text, st.sampled_from("]}"))
broken_output = st.builds(
    lambda one, other, start, end: one[:start] + other[start:end] + one[end:],
    st.sampled_from(TEXTS),
    st.sampled_from(TEXTS),
    st.integers(0, 600),
    st.integers(0, 900),
)
property_test = examples(300)


def test_what_is_in_parentheses_is_no_name_of_a_field() -> None:
    """The costs of a step in a query's plan have equals signs."""
    steps = [
        f"Scan orders_{n}  (cost=0.29..{n} rows={n})\n  Output: id\n  Filter: total > {n}\n  Buffers: hit={n}\n"
        f"  Key: id\n  Loops: {n}"
        for n in range(4)
    ]
    assert "(cost" not in describe("\n".join([*steps, "Planning Time: 0.8 ms"]))


def test_yaml_is_read_once(mocker: MockerFixture) -> None:
    """A text that is no YAML, but looks like it, is read as YAML once for its description; twice took seconds for 1 MB."""
    load_all = mocker.spy(yaml, "load_all")

    assert "9 records: name, size" == describe("name: a\nsize: 1\n" * 9)
    assert 1 == load_all.call_count


def test_the_snapshot_is_what_is_said_today() -> None:
    """The lines on outputs of every kind are those that a person has read."""
    assert (DATA / "descriptions.txt").read_text(encoding="utf-8") == described()


@for_each(
    "content, line",
    [
        (PYTEST, "pytest: 3 failed, 412 passed (test_auth.py::test_login, …)"),
        (
            "FAILED tests/test_a.py::test_join[two words] - assert 1 == 2\n1 failed, 2 passed in 0.12s\n",
            "pytest: 1 failed, 2 passed (test_a.py::test_join(two words))",
        ),
        (json.dumps(ORDERS), "JSON list of 2 objects: id, customer, total"),
        (json.dumps({"orders": ORDERS * 107}), "JSON: 214 orders: id, customer, total"),
        ("id,name,total\n" + "1,ann,2.5\n" * 1204, "CSV 1,204 rows x 3 columns: id, name, total"),
        (TRACEBACK, "traceback: KeyError 'user_id' in app/auth.py:88"),
        (HTML, 'HTML page "Orders & carts", 14 links'),
        (f"Contents of https://x.org/a:\n{HTML}", 'HTML page "Orders & carts", 14 links'),
        (YAML, "YAML, 8 lines: version, services (2)"),
        ("", "empty text"),
        (" \n\t\n", "blank text"),
        ("done", "text, 1 line: done"),
        (b"", "empty text"),
        (b"\x00\x01\x02", "application/octet-stream, 3 bytes"),
        (
            b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\x80\0\0\x01\xe0" + b"\0" * 8,
            "image/png, 640 x 480 pixels, 32 bytes",
        ),
        (b"SQLite format 3\0" + b"\0" * 84, "application/vnd.sqlite3, 100 bytes"),
        (b"%PDF-1.4\n", "application/pdf, 9 bytes"),
        (json.dumps(PACKAGES).encode(), "JSON list of 2 objects: name, version"),
        ("[1, 2, 3]", "JSON list of 3 values: 1, 2, 3"),
        ("[]", "JSON list of 0 values"),
        ('{"a": 1}', "JSON object: a"),
    ],
)
def test_the_line_is_one_that_a_person_would_write(content: Content, line: str) -> None:
    """Kind, numbers, names: what a reader wants to know first."""
    assert line == describe(content)


def test_the_last_line_of_a_conversation_sums_nothing_up() -> None:
    """It begins as the others do, whatever it says: the description is of how the text begins."""
    said = [f"[10:{n:02}] {('ann', 'bob')[n % 2]}: what of plan {n}?" for n in range(40)]
    text = "\n".join([*said, "[10:59] ann: thanks everybody, goodbye"])
    assert "text, 41 lines: (10:00) ann: what of plan 0?" == describe(text)


@for_each(
    "head",
    [
        "HTTP/1.1 200 OK\ncontent-type: application/json\n\n",
        "WARNING: pip is old\n[notice] A new release of pip is available\n",
        "[notice] A new release of pip is available\nWARNING: pip is old\n",
    ],
)
def test_json_below_some_first_lines_is_json(head: str) -> None:
    """Headers and warnings above it do not matter, even if one begins with a bracket."""
    assert "JSON list of 40 objects: id" == describe(
        head + json.dumps([{"id": n} for n in range(40)])
    )


def test_prose_above_a_short_list_is_text() -> None:
    """A last line in brackets says nothing about the lines above it."""
    prose = "I looked at the files of the project.\n" * 60
    assert describe(f"{prose}\n[12, 13]\n").startswith("text, 62 lines")


@for_each("text", ["{x}", "[see below]", "{'a': f()}", "[link](https://x.org)", "1, 2", "{{1}}"])
def test_what_only_looks_like_json_is_text(text: str) -> None:
    """Brackets alone do not make JSON, and nothing in them is ever run."""
    assert describe(text).startswith("text, 1 line:")


@for_each("wrap", [mcp, mcp_repr, lambda text: mcp_repr(mcp(text)), lambda text: f"```\n{text}```"])
@for_each("text", [PYTEST, TRACEBACK, PYTHON, JEST, json.dumps(ORDERS)])
def test_a_wrapping_does_not_change_the_line(wrap: type[str], text: str) -> None:
    """A tool's result as JSON, as a repr, as one in the other: the line is that of the text inside."""
    assert describe(text) == describe(wrap(text))


@for_each("end", [900, 2000, 2001, 2500, 3333])
@for_each("wrap", [str, mcp, lambda text: mcp_repr(mcp(text))])
def test_json_that_is_cut_is_still_json(wrap: type[str], end: int) -> None:
    """What is there is counted, and the line says that there was more."""
    line = describe(wrap(json.dumps({"orders": ORDERS * 100}))[:end])
    assert line.startswith("JSON: orders, cut after ")
    assert line.endswith("id, customer, total")


@property_test
@given(st.data())
def test_a_beginning_of_json_gives_the_beginning_of_its_values(data: st.DataObject) -> None:
    """Whatever is read of a cut text was written in it: as many records or fewer, and the same ones but the last."""
    text = json.dumps(ROWS)
    read = read_literal(text[: data.draw(st.integers(1, len(text) - 1))])
    assert read is not None
    assert read.is_cut
    assert read.value[:-1] == ROWS[: max(0, len(read.value) - 1)]


def test_a_repr_is_read_with_its_escapes() -> None:
    """What Python alone has is read; a text that ends in the middle of one, as far as it goes."""
    value = [{"total": 12.5, "when": [2024, 3, 4], "note": "it's \n"}]
    text = str(value)
    assert (value, False) == read_literal(text)
    assert ([{"total": 12.5, "when": [2024, 3]}], True) == read_literal(text[:35])
    assert ([{"note": "a"}], True) == read_literal('[{"note": "a\\u00e')


def test_the_noun_comes_from_the_data() -> None:
    """From the key of the list; never made up."""
    assert "JSON: 2 customers: id" == describe('{"customers": [{"id": 1}, {"id": 2}]}')
    assert "JSON list of 2 objects: id" == describe('[{"id": 1}, {"id": 2}]')


def test_a_record_with_an_address_keeps_it_beside_short_lists() -> None:
    """A file, a directory or a release is named by its path or address, not described by the few parts that it has."""
    status = {"path": "/home/ann/app", "staged": ["a.py", "b.py"], "unstaged": ["c.py", "d.py"]}
    assert describe(json.dumps(status)).startswith("JSON object (path /home/ann/app)")
    assets = [{"file": f"app-{n}.tar.gz", "size": n, "digest": "f3" * 30} for n in range(2)]
    release = {"url": "https://example.org/app/1.2", "tag": "v1.2", "assets": assets}
    assert describe(json.dumps(release)).startswith("JSON object (url https://example.org")


def test_a_null_among_records_changes_nothing() -> None:
    """A list is described by what most of its items are."""
    records = [{"id": number, "name": f"n{number}"} for number in range(200)]
    assert "JSON: 201 items: id, name" == describe(json.dumps({"items": [*records, None]}))


@for_each(
    "path, description",
    [
        ("app/models.py", "source app/models.py, 25 lines"),
        ("app/models.TS", "source app/models.TS, 25 lines"),
        ("app", "Python source app, 25 lines"),
        (".", "Python source ., 25 lines"),
        ("bin/run", "Python source bin/run, 25 lines"),
        ("Makefile", "Python source Makefile, 25 lines"),
        ("notes.txt", "Python source notes.txt, 25 lines"),
    ],
)
def test_the_call_says_what_the_output_does_not(path: str, description: str) -> None:
    """A path in the arguments names a file, and by its ending the language, but the path of no source file does not."""
    assert describe(PYTHON, arguments=json.dumps({"path": path})).startswith(description)


@for_each("arguments", ["", "{", "[1]", "null", '{"command": 3}', '{"path": null}', "{" * 90_000])
def test_arguments_that_are_none_do_no_harm(arguments: str) -> None:
    """A model may have written anything."""
    assert "text, 1 line: done" == describe("done", source="run", arguments=arguments)


def test_lines_with_different_commas_are_no_table() -> None:
    """A table has as many columns in each row."""
    assert describe("red, green\nblue\none, two, three").startswith("text, 3 lines")
    assert describe("red, green\nblue, black\none, two, three").startswith("text, 3 lines")


def test_a_text_in_which_some_lines_have_times_is_no_log() -> None:
    """Most of the first lines of a log say when, or how serious it was."""
    assert not describe("12:00:01 start\n12:00:02 stop\na b\nb c\nc d").startswith("log")


def test_a_page_is_not_what_stands_behind_it() -> None:
    """A text that goes on for longer than its page, as `curl -v` does behind an answer, is neither a page nor XML."""
    page = "<html>\n<head><title>502 Bad Gateway</title></head>\n<body>nginx</body>\n</html>\n"

    assert describe(page + "[exit 0]") == 'HTML page "502 Bad Gateway", 5 lines'
    assert describe(page + "* Connected to 10.0.0.7\n" * 40).startswith("text, 44 lines")


def test_a_table_has_as_many_rows_as_line_breaks_say() -> None:
    """Characters that only some programs take for a line break do not make rows, nor hide them."""
    assert describe("a,b\n1,x\u2028y\n2,z\n") == "CSV 2 rows x 2 columns: a, b"
    assert "0 rows" not in describe("a,b\r1,2\r3,4\r")


def test_a_description_says_what_is_known() -> None:
    """The kind is a value that code can look at, and not only a line."""
    expected = Description(Kind.JSON, "JSON: 2 orders", ("id", "customer", "total"))
    assert expected == identify(json.dumps({"orders": ORDERS}))


def test_a_table_of_more_columns_than_can_be_asked_for() -> None:
    """A ruled table of 1,100 columns is described by something, and raises nothing."""
    names = " | ".join(f"c{number}" for number in range(1100))
    rule = "+".join(["----"] * 1100)
    assert describe(f"{names}\n{rule}\n{names}\n")


def test_a_frame_below_another_line() -> None:
    """The line above a frame is not taken for the names of its columns."""
    frame = "+----+-----+\n| id | n   |\n+----+-----+\n|  1 | ann |\n|  2 | bob |\n+----+-----+\n"
    assert "2 rows x 2 columns: id, n" in describe(f"Users of the shop by city:\n{frame}")


@pytest.fixture
def registered() -> Iterator[Callable[[Callable[[str], Any]], None]]:
    """Register a describer for the tool ``weather``, for one test."""
    yield lambda function: describing.register("weather", function)
    describing.unregister("weather")


def test_users_describe_the_texts_of_their_tools(
    registered: Callable[[Callable[[str], Any]], None],
) -> None:
    """The function gets the text; its line is brought into the form of a reference. Other tools are left alone."""
    registered(lambda text: f"[weather]\nof {text} {'!' * 99}" if text == "Oslo" else None)
    assert describe("Oslo", source="weather").startswith("(weather) of Oslo !!!")
    assert len(describe("Oslo", source="weather")) == 80
    assert describe("Oslo", source="other") == "text, 1 line: Oslo"
    assert describe("Rome", source="weather") == "text, 1 line: Rome"
    manager = MemoryManager(user_id="ann")
    assert manager.get(manager.store("Oslo", source="weather")).summary.startswith("(weather)")
    describing.unregister("weather")
    assert describe("Oslo", source="weather") == "text, 1 line: Oslo"


@pytest.mark.parametrize("said", [KeyError("secret"), RecursionError(), "", "\n", 3, b"x", ["x"]])
def test_a_describer_that_fails_is_left_out(
    said: object,
    registered: Callable[[Callable[[str], Any]], None],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Whatever it raises or returns, the text gets its default line, and a warning names the tool, not the text."""

    def describer(_: str) -> object:
        if isinstance(said, Exception):
            raise said
        return said

    registered(describer)
    assert describe("Oslo", source="weather") == "text, 1 line: Oslo"
    (record,) = caplog.records
    assert record.__dict__["event"] == "memory_context.describer_failed"
    assert "weather" in record.message
    assert "secret" not in record.message


@for_each(
    "one, many",
    [
        ("order", "orders"),
        ("match", "matches"),
        ("entry", "entries"),
        ("key", "keys"),
        ("class", "classes"),
    ],
)
def test_nouns_have_their_plurals(one: str, many: str) -> None:
    """One of a thing is singular, everything else plural."""
    assert (many, one) == (plural(one), singular(many))
    assert (f"1 {one}", f"0 {many}", f"1,204 {many}") == (
        counted(1, one),
        counted(0, one),
        counted(1204, one),
    )


@property_test
@given(tricky_text | in_brackets | st.binary() | broken_output)
@example("{'a'}")
@example("# ")
def test_anything_can_be_described(content: Content) -> None:
    """One line of 1 to 80 characters without brackets or what a screen does not show; never an error, never another."""
    line = describe(content)
    assert line == describe(content)
    assert 1 <= len(line) <= 80
    assert not set("[]") & set(line)
    assert all(char == " " or unicodedata.category(char)[0] not in "CZ" for char in line)


@for_each(
    "text",
    [
        "{{}}",
        "{[]: 1}",
        "{0x" + "f" * 5000 + ": 1}",
        "[" + "9" * 5000 + "]",
        '{"a": ' + "9" * 5000 + "}",
    ],
)
def test_literals_that_python_cannot_build_are_described(text: str) -> None:
    """What Python would refuse to read or to print is described all the same, and not read as a value."""
    assert describe(text)
    assert parse_literal("{{1}}") is None


@pytest.mark.long
@for_each(
    "text",
    [
        "[" * 100_000 + "]" * 100_000,
        "[" + "-" * 100_000 + "1]",
        "{" + "1+" * 100_000 + "1}",
        '{"a":' * 50_000 + "}" * 50_000,
        "[" * 400 + "1, ",
    ],
)
def test_deep_nesting_is_described(text: str) -> None:
    """Thousands of brackets in each other are no danger."""
    assert describe(text)


@for_each("text", [r"['\d']", "[1 (2)]", "['a' is 'a']", "[1if 2else 3]"])
def test_describing_warns_of_nothing(text: str) -> None:
    """What Python's compiler thinks of a tool's output is nobody's concern, and does not change the line."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        line = describe(text)
    assert [] == [str(warning.message) for warning in caught]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert line == describe(text)


@pytest.mark.long
@for_each(
    "text, beginning",
    [
        ("x" * 6_000_000, "text, 1 line: xxx"),
        ("INFO all is well\n" * 1_000_000, "log, 1,000,000 lines: all is well"),
        ("INFO a\nERROR b\n" * 500_000, "log, 1,000,000 lines, 500,000 errors: b"),
        ("[" + "1," * 3_000_000 + "1]", "JSON list of about 2,999,986 values: 1,"),
        (
            "[" + ", ".join('{"id": 1, "name": "x"}' for _ in range(300_000)) + "]",
            "JSON list of about 300,0",
        ),
        (" " * 2_000_000 + "x", "text, 1 line: x"),
        ("a,b\n" + "1,2\n" * 2_000_000, "CSV 2,000,000 rows x 2 columns: a, b"),
        (
            PYTEST.replace("=\n", "=\n" + "tests/x.py ...\n" * 300_000, 1),
            "pytest: 3 failed, 412 passed",
        ),
    ],
)
def test_megabytes_are_described(text: str, beginning: str) -> None:
    """A large text is described by its beginning and its end, with its true number of lines."""
    assert describe(text).startswith(beginning)


@pytest.mark.long
@for_each(
    "piece",
    [
        "<!-- x -->\n",
        "\\'",
        "'",
        '\\"',
        "b'",
        "'\\",
        "\\",
        "(",
        "1,",
        ":",
        "1e",
        "\n",
        " \n",
        "<a ",
        "<!--",
        "|",
        "- ",
        "# ",
        "\n\n<",
        "a b ",
        "/*\n",
        "a.b",
    ],
)
def test_repetitions_are_described_in_no_time(piece: str) -> None:
    """No text takes time that grows faster than the text, whatever it repeats."""
    assert describe(f"[{piece * 200_000}]")
    assert describe(piece * 200_000)


@for_each(
    "line, failing",
    [
        (
            "2026-01-01 12:00:00 INFO step {} finished, no trouble",
            "2026-01-01 12:28 ERROR disk full",
        ),
        ("test_case_{} of the long list of cases ... ok", "test_case_x ... FAILED: disk full"),
    ],
)
def test_one_failure_among_thousands_of_lines(line: str, failing: str) -> None:
    """A text of 3,000 lines in which one tells of a failure says so, however far behind it stands."""
    lines = [line.format(number) for number in range(3000)]
    assert "fail" not in describe("\n".join(lines)).lower()
    lines[2500] = failing

    assert "disk full" in describe("\n".join(lines))
    assert re.search(r"\b1 (?:error|failure)\b", describe("\n".join(lines)))


@for_each(
    "level", ["ERROR", "ERR", "CRITICAL", "CRIT", "FATAL", "SEVERE", "ALERT", "EMERG", "PANIC"]
)
def test_levels_of_errors(level: str) -> None:
    """The description of a log counts the lines of every level that reports an error, syslog's included."""
    lines = [f"2026-01-01 12:00:{number:02} INFO worker {number} ok" for number in range(30)]
    lines[17] = f"2026-01-01 12:00:17 {level} disk full"
    assert describe("\n".join(lines)) == "log, 30 lines, 1 error: disk full"


@for_each(
    "text, line",
    [
        (
            (
                "a.c: In function 'f':\na.c:3:9: warning: unused 'x'\na.c:4:5: error: 'y' undeclared\n    4 | y;\n"
                "b.c:1:10: fatal error: z.h: No such file\n"
            ),
            "text, 5 lines, 2 errors, 1 warning: a.c:4:5: 'y' undeclared",
        ),
        (
            "building\nC:\\my src\\a.cs(4,9): error CS1002: no end\n/my src/a.c:7:1: warning: old\n",
            "text, 3 lines, 1 error, 1 warning: C:\\my src\\a.cs(4,9): no end",
        ),
        (
            "a.ts(4,9): error TS2322: no string\nnote\n",
            "text, 2 lines, 1 error: a.ts(4,9): no string",
        ),
        (
            "warning: unused\n --> m.rs:1\n" * 30
            + "error[E0425]: cannot find `z`\n --> m.rs:2\n"
            + "error: aborting due to 1 previous error\n",
            "text, 63 lines, 1 error, 30 warnings: cannot find `z`",
        ),
        (
            "F401 `os` imported but unused\n --> a.py:1\n" * 9
            + "Found 9 errors.\n[*] 9 fixable with --fix\n",
            "text, 20 lines, at its end: Found 9 errors.",
        ),
    ],
)
def test_errors_of_compilers(text: str, line: str) -> None:
    """The messages of a compiler are counted, and the first error is shown, unless a line at the end sums them up."""
    assert line == describe(text)


LICENCE = "/*\n" + " * no warranty of any kind\n" * 150 + " */\n"


@for_each(
    "code, line",
    [
        ('package main\n\nfunc main() {\n\tprintln("a")\n}\n', "Go source, 157 lines: main"),
        (
            "export interface Cart {\n  // `a`\n  id: string;\n}\n",
            "TypeScript source, 156 lines: Cart",
        ),
        ("<?php\nclass Cart\n{\n    return $x;\n}\n", "PHP source, 157 lines: Cart"),
    ],
)
def test_code_below_comments(code: str, line: str) -> None:
    """A licence and documentation before the code do not hide its language, and no words in them count as failures."""
    assert line == describe(LICENCE + code)
    assert "source" not in describe("# Text\n\n```\n" + LICENCE + code + "```\n")


@for_each(
    "code, line",
    [
        (
            (
                "#pragma once\n\nnamespace shop {\n\nclass Cart {\npublic:\n  static Cart of(int id);\n"
                "  int total() const;\nprivate:\n  int cents = 0;\n};\n\n}\n"
            ),
            "C source, 13 lines: Cart",
        ),
        (
            "class Cart {\npublic:\n  Cart();\n  int total() const;\n};\n",
            "C source, 5 lines: Cart",
        ),
        (
            "#include <stdio.h>\nstatic inline void add(int a)\n{\n}\nstatic inline void sub(int a)\n{\n}\n",
            "C source, 7 lines: add, sub",
        ),
        (
            (
                "using System;\n\nnamespace Shop\n{\n    public class Cart : ICart\n    {\n"
                "        public int Total { get; set; }\n\n        public int Find(int id)\n        {\n"
                "            return id;\n        }\n    }\n}\n"
            ),
            "C# source, 14 lines: Cart, Find",
        ),
        (
            "package shop;\n\npublic class Cart {\n    static int count(Cart cart) {\n        return 1;\n    }\n}\n",
            "Java source, 7 lines: Cart, count",
        ),
        (
            "package Shop::Cart;\n\nuse strict;\n\nsub total {\n    my $cart = shift;\n    return $cart;\n}\n",
            "Perl source, 8 lines: total",
        ),
        (
            "sub total {\n    return $sum;\n}\nsub add {\n    return $sum;\n}\n",
            "Perl source, 6 lines: total, add",
        ),
        (
            "class Cart {\n    public function total() {\n        return $this->total;\n    }\n}\n",
            "PHP source, 5 lines: Cart, total",
        ),
    ],
)
def test_languages_that_look_alike(code: str, line: str) -> None:
    """C++, C#, Java, Perl and PHP share many beginnings of lines; each is known by what only it has."""
    assert line == describe(code)


@for_each(
    "code, line",
    [
        (
            "/* Adds. */\nstatic int add (int a, int b)\n{\n  return a + b;  /* no overflow */\n}\n"
            * 9,
            "C source, 45 lines: add",
        ),
        (
            "use std::fmt;\n\n/// How many there are.\npub fn count(all: &[u8]) -> usize {\n    all.len()\n}\n"
            * 9,
            "Rust source, 54 lines: count",
        ),
        (
            "title: shop\nservices:\n  web:\n    image: a\n  db:\n    image: b\n",
            "YAML, 6 lines: title, services (2)",
        ),
    ],
)
def test_numbered_lines(code: str, line: str) -> None:
    """What `cat -n` prints is described as the file is."""
    assert line == describe(
        "".join(f"{n:6}\t{one}\n" for n, one in enumerate(code.splitlines(), 1))
    )


def test_other_numbers_before_lines() -> None:
    """Numbers that do not follow each other are no numbers of lines, as in what `git shortlog` counts."""
    shown = "".join(f"{n * n:6}\tAnn {n}\n" for n in range(30, 9, -1))
    assert describe(shown).startswith("TSV 21 rows x 2 columns")


@for_each(
    "text",
    [
        ".a {\n  color: red;\n}\n" * 25 + "@font-face {\n" * 5 + "/* a */\n",
        "use strict;\n" * 5 + "$x = 1;\nfoo($x);\n}\n" * 25 + "// a\n",
    ],
)
def test_few_signs_without_a_definition(text: str) -> None:
    """Lines that end like code are no code of a language that they define nothing in."""
    assert describe(text).startswith("text, 81 lines")


def test_comments_among_paths() -> None:
    """Comments and fields among paths are not counted as paths."""
    paths = [f"mozilla/root_{number}.crt" for number in range(60)]
    text = "\n".join(["# The paths of certificates", "#", "Files:", *paths])
    assert (
        describe(text)
        == "list of 60 paths: mozilla/root_0.crt, mozilla/root_1.crt, mozilla/root_2.crt, …"
    )


@for_each(
    "before, unit, after",
    [
        ("## a", "#", "b"),
        ("#i", " ", "\n~"),
        ("+++ a\n@@ -1 +1 @@\n+++ b/", "a", "\n"),
        ("\t  \t/", "\t/*", "b"),
    ],
)
def test_a_long_line_is_read_once(before: str, unit: str, after: str) -> None:
    """A line of thousands of signs that could end a heading, a file's name or a comment is not read again from each."""
    assert_linear(describe, unit, before, after)
