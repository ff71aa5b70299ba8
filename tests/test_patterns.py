"""Patterns that would take all memory are refused before they are compiled; ordinary ones are not."""

from __future__ import annotations

import pytest
import regex

from for_each import for_each
from growth import assert_linear
from memory_context import MemoryManager
from memory_context.exceptions import InvalidSelectionError, NothingMatchedError
from memory_context.runtime.regexes import compiled, expanded_size

LARGE = [
    "a{99999999}",
    "a{100001,}",
    "(a{1000}){1000}",
    r"(?:[)(]{1000}\){2}){199}",
    "((x{99}){99}){99}",
    "(?#[)(a{1000}){1000}(?#])",
    "(?x)#[\n(a{1000}){1000}#]",
    "(?x) (a{1000}) {1000}",
    "(?ix)(a{1 000}){10 #\n00}",
    "a(?x)#[\n(a{1000}){1000}#]",
    "(?x-i)#[\n(a{1000}){1000}#]",
]


@for_each("pattern", LARGE)
def test_too_large(pattern: str) -> None:
    """Counts that multiply to too much are refused, by the parser and by who reads a memory, in words."""
    with pytest.raises(regex.error, match="repeat more than 100,000 times"):
        compiled(pattern)
    with MemoryManager("sqlite://", user_id="ann") as memory:
        key = memory.store('{"a": "aaa"}')
        with pytest.raises(InvalidSelectionError, match="its counts repeat more than"):
            memory.retrieve(key, pattern=pattern)


def test_too_large_in_a_path() -> None:
    """In a JSONPath's filter such a pattern is none, and matches nothing."""
    with MemoryManager("sqlite://", user_id="ann") as memory:
        key = memory.store([{"a": "aaa"}])
        assert "aaa" in str(memory.retrieve(key, path="$[?match(@.a, 'a{3}')]"))
        with pytest.raises(NothingMatchedError):
            memory.retrieve(key, path="$[?match(@.a, 'a{0,3}(a{9999}){9999}')]")


@for_each(
    "pattern",
    ["(?x:#[\n)a{9}#]", "(?x)(?-x:#[\na{9}#])", "(?x)#[\n(?-x:#(a{9}){9}\n)#]", "(?i-x:a)"],
)
def test_comments_in_a_part_of_a_pattern(pattern: str) -> None:
    """Where the flag x does not hold for all of a pattern, a comment could hide its counts: it is refused, in words."""
    with pytest.raises(regex.error, match=r"the flag x must hold for all of it, as in \(\?x\)"):
        compiled(pattern)


@for_each("pattern", [r"\(?x: -?\d+", r"[(?x:]+ \d", "(?#(?x:)a", r"\w{500} {500}"])
def test_what_looks_like_the_flag_x(pattern: str) -> None:
    """An escape, a set or a comment sets no flag, and without one a blank is a blank."""
    assert pattern == compiled(pattern).pattern


@for_each("pattern", ["(?ix) ab{2} # {9}", "(?i)(?x) A b {2}", "(?#one)(?x)a b b"])
def test_the_flag_x_for_all_of_a_pattern(pattern: str) -> None:
    """It is accepted, wherever and with whatever other flags it is set."""
    assert compiled(pattern).search("abb")


def test_sets_that_are_not_closed_are_read_once() -> None:
    """A pattern with thousands of brackets is not read to its end from each of them."""
    assert_linear(expanded_size, "[")


@for_each(
    "pattern, size",
    [
        (r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}", 4 + 1 + 2 + 1 + 2 + 1 + 2 + 1 + 2),
        ("(ab){3}c", 7),
        ("[]a{9}]{2}", 2),
        (r"\{9}\(", 4),
        ("x{0}", 1),
        ("a{,5}", 5),
        ("", 0),
        ("(((", 0),
        (")))", 3),
        ("(?#a{9})b", 1),
        ("[a{9}", 1),
    ],
)
def test_sizes(pattern: str, size: int) -> None:
    """Counted repetitions are written out, groups multiply, classes are one, what is escaped counts as it stands."""
    assert size == expanded_size(pattern)
