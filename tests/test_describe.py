"""What a text is, in one line: the same one every time, for anything at all."""

from __future__ import annotations

import json
import unicodedata
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_context._describe import describe
from memory_context._items import Content

PACKAGES = [{"name": "left-pad", "version": "1.3.0"}, {"name": "react", "version": "19.0.0"}]
PIECES = [*"{}[]()1,:*\n\t\0\ud800", "'a'", '"b"', "b'x'", "\\d", "None", "0x", " is "]

any_text = st.text(st.characters(exclude_categories=()))
tricky_text = st.lists(st.sampled_from(PIECES) | any_text, max_size=12).map("".join)
in_brackets = st.builds("{}{}{}".format, st.sampled_from("[{"), tricky_text, st.sampled_from("]}"))
property_test = settings(max_examples=400, deadline=None)


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("", "empty text"),
        (" \n\t\n", "blank text"),
        (b"", "binary content, 0 bytes"),
        (b"\x89PNG", "binary content, 4 bytes"),
        (json.dumps(PACKAGES), "JSON list of 2 objects: name, version"),
        (f"\n{json.dumps(PACKAGES, indent=2)}\n", "JSON list of 2 objects: name, version"),
        (str(PACKAGES), "JSON list of 2 objects: name, version"),
        ("[1, 2, 3]", "JSON list of 3 values"),
        ("[]", "JSON list of 0 values"),
        ('[{"a": 1}, 2]', "JSON list of 2 values"),
        ('{"name": "x", "id": 7}', "JSON object: name, id"),
        ("{'ok': True, 'rows': None}", "JSON object: ok, rows"),
        (str(dict.fromkeys("abcdefgh", 0)), "JSON object: a, b, c, d, e, f"),
        ("id,name\n1,ann\n2,bob\n", "CSV, 2 rows x 2 columns: id, name"),
        ("id,name\r\n1,ann\r\n2,bob", "CSV, 2 rows x 2 columns: id, name"),
        ('"id","name"\n1,ann\n', "CSV, 1 rows x 2 columns: id, name"),
        ("id\tname\tage\n1\tann\t30\n", "TSV, 1 rows x 3 columns: id, name, age"),
        ("12:00:01 start\n12:00:02 stop\n", "log, 2 lines: 12:00:01 start"),
        ("INFO up\nERROR disk full\nINFO down", "log, 3 lines, 1 with errors: INFO up"),
        ("\n\n  Dear Ann,\nall is well\nyours", "text, 5 lines: Dear Ann,"),
        ("make: *** failed\nfatal: no", "text, 2 lines, 2 with errors: make: *** failed"),
    ],
)
def test_each_kind_is_named(content: Content, line: str) -> None:
    """Kind, size and what it begins with: keys of objects, names of columns, the first words of anything else."""
    assert line == describe(content)


@pytest.mark.parametrize(
    "text", ["[1, 2", '{"a": ', "{x}", "[see below]", "{'a': f()}", "[link](https://x.org)", "1, 2"]
)
def test_what_only_looks_like_json_is_text(text: str) -> None:
    """Brackets alone do not make JSON, and nothing in them is ever run."""
    assert describe(text).startswith("text, 1 lines")


def test_lines_with_different_commas_are_no_table() -> None:
    """A table has as many columns in each row."""
    assert describe("red, green\nblue\none, two, three").startswith("text, 3 lines")
    assert describe("red, green\nblue, black\none, two, three").startswith("text, 3 lines")


def test_a_text_in_which_some_lines_have_times_is_no_log() -> None:
    """Most of the first lines of a log say when, or how serious it was."""
    assert describe("12:00:01 start\n12:00:02 stop\na\nb\nc").startswith("text, 5 lines")


def test_a_table_has_as_many_rows_as_line_breaks_say() -> None:
    """Characters that only some programs take for a line break do not make rows, nor hide them."""
    assert describe("a,b\n1,x\u2028y\n2,z\n") == "CSV, 2 rows x 2 columns: a, b"
    assert "0 rows" not in describe("a,b\r1,2\r3,4\r")


@property_test
@given(tricky_text | in_brackets | st.binary())
def test_anything_can_be_described(content: Content) -> None:
    """One line of 1 to 80 characters without brackets or what a screen does not show; never an error, never another."""
    line = describe(content)
    assert line == describe(content)
    assert 1 <= len(line) <= 80
    assert not set("[]") & set(line)
    assert all(char == " " or unicodedata.category(char)[0] not in "CZ" for char in line)


@pytest.mark.parametrize(
    "text",
    ["{{}}", "{{1}}", "{[]: 1}", "{0x" + "f" * 5000 + ": 1}", "[{0x" + "f" * 5000 + ": 1}]", "[" + "9" * 5000 + "]"],
    ids=["set of dict", "set of set", "list as key", "huge key", "huge key in a list", "huge number"],
)
def test_literals_that_python_cannot_build_are_text(text: str) -> None:
    """A template's ``{{1}}`` has the form of a literal, yet is none."""
    assert describe(text)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000 + "]" * 100_000,
        "[" + "-" * 100_000 + "1]",
        "{" + "1+" * 100_000 + "1}",
        '{"a":' * 50_000 + "}" * 50_000,
    ],
    ids=["lists", "signs", "sums", "objects"],
)
def test_deep_nesting_is_described(text: str) -> None:
    """Thousands of brackets in each other are no danger."""
    assert describe(text)


@pytest.mark.parametrize("text", [r"['\d']", "[1 (2)]", "['a' is 'a']", "[1if 2else 3]"])
def test_describing_warns_of_nothing(text: str) -> None:
    """What Python's compiler thinks of a tool's output is nobody's concern, and does not change the line."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        line = describe(text)
    assert [] == [str(warning.message) for warning in caught]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert line == describe(text)


@pytest.mark.parametrize(
    ("text", "beginning"),
    [
        ("x" * 6_000_000, "text, 1 lines: xxx"),
        ("INFO a\n" * 1_000_000, "log, 1000000 lines: INFO a"),
        ("[" + "1," * 3_000_000 + "1]", "text, 1 lines: (1,1,"),
        (" " * 2_000_000 + "x", "text, 1 lines: x"),
    ],
    ids=["one line", "a log", "a list", "leading blanks"],
)
def test_megabytes_are_described(text: str, beginning: str) -> None:
    """A large text is described by its beginning, with its true number of lines."""
    assert describe(text).startswith(beginning)


@pytest.mark.timeout(10)
@pytest.mark.parametrize("piece", ["\\'", "'", '\\"', "b'", "'\\", "\\", "(", "1,", ":", "1e"])
def test_brackets_around_anything_are_described_in_no_time(piece: str) -> None:
    """No text takes time that grows faster than the text, whatever it repeats."""
    assert describe(f"[{piece * 200_000}]")
