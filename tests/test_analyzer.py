"""The analyzer: what texts and queries are found by."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from for_each import for_each
from memory_context.text.index.analyzer import analyze, held_by, wanted_by, words_found_by

CHINESE = "\u7cfb\u7edf\u7ba1\u7406\u5458"  # five characters: "system administrator"
DAY = {"2023-05-08", "2023-05"}


def found_by(text: str, query: str) -> bool:
    """Whether a text is found by everything that a query asks for."""
    wanted = wanted_by(query)
    return bool(wanted) and set(wanted) <= analyze(text).counts.keys()


@for_each(
    "text, query",
    [
        ("the workers crashed while connecting", "worker crash connection"),
        ("def getUserName(self)", "getUserName"),
        ("def getUserName(self)", "user name"),
        ("self._user_name = 1", "user_name"),
        ("HTTPServer and parseXMLFile", "http server xml"),
        ("in /usr/lib/python3.11/site.py, line 3", "/usr/lib/python3.11/site.py"),
        ("in /usr/lib/python3.11/site.py, line 3", "site.py"),
        (r"C:\Users\ann\report.docx", "report.docx"),
        ("id 550e8400-e29b-41d4-a716-446655440000.", "550E8400-E29B-41D4-A716-446655440000"),
        ("closes PROJ-1234: done", "proj-1234"),
        ("ORA-00942: table does not exist", "ORA-00942"),
        ("error E1234 (0x80070005)", "0x80070005"),
        ("commit 3f9a2c1b", "3F9A2C1B"),
        ("mail to ann.b@example.com", "ann.b@example.com"),
        (CHINESE, CHINESE[2:4]),
        (f"x{CHINESE}y", CHINESE),
        (json.dumps(f"in Zürich: Anna Groß, {CHINESE}"), f"zürich GROSS {CHINESE[1:3]}"),
        (json.dumps(json.dumps({"city": "Łódź-2"})), "Łódź-2"),
        (json.dumps("5 pieces:\nwarehouse\tGraz\r\n42 left"), "warehouse Graz 42"),
        (json.dumps([json.dumps("one\nwarehouse")]), "warehouse"),
        (r"C:\new\table, tests\test_rows.py", "new table test_rows.py"),
        (r"C:\new\table", r"C:\new\table"),
        (CHINESE, CHINESE[0]),
        ("\u6771\u4eac\u30bf\u30ef\u30fc", "\u30bf\u30ef\u30fc"),
        ("\uc11c\ubc84\uac00 \ub2e4\uc6b4", "\uc11c\ubc84"),
        ("\uff25\uff32\uff32\uff2f\uff32 \uff14\uff10\uff14", "error 404"),
        ("un caf\u00e9 \u00e0 la STRASSE", "cafe stra\u00dfe"),
        ("\u0939\u093f\u0928\u094d\u0926\u0940", "\u0939\u093f\u0928\u094d\u0926\u0940"),
        ("the 8th of May 2023", "in May 2023"),
        ("\x1b[32m✓\x1b[39m suite \x1b[2mtook 3 s\x1b[22m", "took"),
    ],
)
def test_found(text: str, query: str) -> None:
    """Words are found in other forms, identifiers whole and by their parts, in any script; dates however written."""
    assert found_by(text, query)


@for_each(
    "text, query",
    [("axb 100 percent", "a_b"), ("PROJ-1235", "proj-1234"), (CHINESE, CHINESE[2] + CHINESE[0])],
)
def test_not_found(text: str, query: str) -> None:
    """What stands elsewhere, or in another order, is something else."""
    assert not found_by(text, query)


@for_each(
    "date",
    [
        "8 May 2023",
        "8th of may 2023",
        "May 8, 2023",
        "MAY 8th 2023",
        "2023-05-08",
        "2023/5/8",
        "2023-05-08T12:00",
        r"\n8 May 2023",
    ],
)
def test_dates(date: str) -> None:
    """A day has one form, and its month another."""
    assert analyze(f"on {date}.").counts.keys() >= DAY


@for_each(
    "text",
    ["", " \n", r"\u2026", r'"\n\n"', "the of and", "!?\u2026 \U0001f600", "\0", "\ud800"],
)
def test_nothing(text: str) -> None:
    """Blank texts, stop words and symbols have no lexemes."""
    assert {} == analyze(text).counts


def test_length_is_words() -> None:
    """An identifier counts as one word, whatever it is found by."""
    assert 3 == analyze("call /usr/lib/getUserName.py now_and_then").length


def test_encoded_bytes_have_no_words() -> None:
    """Base64 is not taken apart as if it were camel case."""
    text = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"

    assert [text.lower()] == list(analyze(text).counts)


@given(
    st.text() | st.sampled_from(["on 8 May 2023 getUserName failed", "E-4711: a/b.py, a/b.py"]),
    st.text(),
)
def test_held_is_what_was_analyzed(text: str, query: str) -> None:
    """The wanted lexemes that a text holds are those that its analysis has."""
    wanted = [*wanted_by(query), *wanted_by(text)[::2]]
    assert held_by(text, wanted) == set(wanted) & set(analyze(text).counts)


def test_words_of_a_query() -> None:
    """The words that a text was found by are told as they were written, each once."""
    assert ["Crashed", "getUserName"] == words_found_by(
        "Crashed again: getUserName, Crashed", ["crash", "user"]
    )


@given(st.text(max_size=300), st.text(max_size=300))
def test_any_text(before: str, behind: str) -> None:
    """Any text has lexemes without white space, is found by itself, and has twice as many if it stands there twice."""
    text = f"{before}\n{behind}"

    counts = analyze(text).counts

    assert all(
        count > 0 and lexeme and not set(lexeme) & set(" \n\t\r\"'\0")
        for lexeme, count in counts.items()
    )
    assert set(wanted_by(text)) <= counts.keys()
    assert analyze(f"{text}\n\n{text}").counts == {
        lexeme: 2 * count for lexeme, count in counts.items()
    }


@pytest.mark.long
@for_each(
    "unit", ["a", "-", "a-", "a.b/", "A1", "aB", "\u4e2d", "may ", "1 may ", "_", "\u0301", "\\"]
)
def test_no_text_takes_for_ever(unit: str) -> None:
    """A million characters of what regular expressions fear are analyzed within the test's time limit."""
    assert analyze((unit * 1_000_000)[:1_000_000]).length <= 1_000_000


def test_a_run_of_escaped_backslashes_is_read() -> None:
    """However long it is."""
    assert held_by("end " + "\\u005c" * 5000, ["end"]) == {"end"}
