"""References: rendered and parsed in one place, and no text can forge or break one."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from for_each import for_each
from memory_context.exceptions import InvalidKeyError, InvalidReferenceError
from memory_context.model.one_line import MAX_DESCRIPTION, one_line
from memory_context.model.reference import MemoryRef, check_key, without_references

KEY = "npm_install_3f9a2c1b0k"
INVISIBLE = {
    "NUL": "\0",
    "escape": "\x1b",
    "next line": "\x85",
    "zero-width space": "\u200b",
    "zero-width joiner": "\u200d",
    "word joiner": "\u2060",
    "byte order mark": "\ufeff",
    "soft hyphen": "\xad",
    "right-to-left override": "\u202e",
    "right-to-left isolate": "\u2067",
    "line separator": "\u2028",
    "tag letter": "\U000e0041",
    "lone surrogate": "\ud800",
    "private use": "\ue000",
    "variation selector": "\ufe0f",
    "supplementary variation selector": "\U000e0100",
    "grapheme joiner": "\u034f",
    "Hangul filler": "\u3164",
}
PIECES = [
    *"[]-9 \n\r",
    "MemoryRef",
    "[MemoryRef: ",
    "[MemoryRef: a]",
    " - ",
    " 7 tokens]",
    " tokens",
]

any_text = st.text(st.characters(exclude_categories=()))
tricky_text = st.lists(st.sampled_from([*PIECES, *INVISIBLE.values()]) | any_text, max_size=8).map(
    "".join
)
keys = st.from_regex(r"[A-Za-z0-9_.\-]{1,255}", fullmatch=True)
counts = st.integers(0, 10**18 - 1)
references = st.builds(MemoryRef, keys, tricky_text, counts) | st.builds(MemoryRef, keys)
property_test = examples(200)


@property_test
@given(references)
def test_what_is_rendered_is_parsed_again(ref: MemoryRef) -> None:
    """``parse(render(x)) == x`` for every reference, white space around it or not."""
    assert ref == MemoryRef.parse(ref.render())
    assert ref == MemoryRef.parse(f"\n  {ref} ")


@property_test
@given(tricky_text, references, tricky_text)
def test_a_reference_is_found_where_it_stands_in_any_text(
    before: str, ref: MemoryRef, after: str
) -> None:
    """What surrounds a reference neither hides it nor makes more of it."""
    assert [*MemoryRef.find_all(before), ref, *MemoryRef.find_all(after)] == MemoryRef.find_all(
        f"{before}{ref}{after}"
    )


@property_test
@given(references)
def test_a_reference_is_one_line_of_a_known_form(ref: MemoryRef) -> None:
    """Whatever the description was, one opening and one closing bracket stand around key, description and count."""
    form = r"\[MemoryRef: [A-Za-z0-9_.\-]{1,255}(( - [^\[\]\n]{1,80})? - [0-9]{1,18} tokens)?\]"
    assert re.fullmatch(form, ref.render())
    assert len(ref.render().splitlines()) == 1


@property_test
@given(tricky_text, st.integers(1, 300))
def test_one_line_is_clean_short_and_idempotent(text: str, limit: int) -> None:
    """A description has one line, at most `limit` characters, and nothing in it that a screen does not show."""
    line = one_line(text, limit)
    assert line == one_line(line, limit)
    assert len(line) <= limit
    assert line == line.strip()
    assert not set("[]") & set(line)
    assert all(char == " " or unicodedata.category(char)[0] not in "CZ" for char in line)


@for_each("char", INVISIBLE.values())
def test_a_description_hides_nothing(char: str) -> None:
    """A character that nobody sees does not reach a prompt by way of a description."""
    assert char not in MemoryRef("key", f"read{char}me", 1).render()


@for_each(
    "text, line",
    [
        ("npm install log", "npm install log"),
        ("  a\n\tb \r\n c", "a b c"),
        ("see [1] and [MemoryRef: x]", "see (1) and (MemoryRef: x)"),
        ("x" * 80, "x" * 80),
        ("x" * 81, "x" * 79 + "…"),
        ("word " * 1_000_000, "word " * 15 + "word…"),
        ("naïve 中文 👍", "naïve 中文 👍"),
        ("", ""),
        ("\n\0", ""),
    ],
)
def test_one_line_keeps_what_can_be_read(text: str, line: str) -> None:
    """White space is collapsed, square brackets become round ones, and what is too long ends with an ellipsis."""
    assert line == one_line(text)
    assert len(line) <= MAX_DESCRIPTION


@for_each(
    "ref, text",
    [
        (MemoryRef(KEY), f"[MemoryRef: {KEY}]"),
        (MemoryRef(KEY, "", 0), f"[MemoryRef: {KEY} - 0 tokens]"),
        (
            MemoryRef(KEY, "512 lines, 3 errors", 2340),
            f"[MemoryRef: {KEY} - 512 lines, 3 errors - 2340 tokens]",
        ),
        (MemoryRef("k", "x - 5 tokens", 7), "[MemoryRef: k - x - 5 tokens - 7 tokens]"),
        (MemoryRef("k", "d" * 80, 7), f"[MemoryRef: k - {'d' * 80} - 7 tokens]"),
        (MemoryRef("k", "-", 7), "[MemoryRef: k - - - 7 tokens]"),
        (MemoryRef("a-b.c_D", "d", 10**18 - 1), f"[MemoryRef: a-b.c_D - d - {10**18 - 1} tokens]"),
    ],
)
def test_how_a_reference_reads(ref: MemoryRef, text: str) -> None:
    """Key, description and count, or the key alone."""
    assert text == ref.render() == str(ref)
    assert ref == MemoryRef.parse(text)


@for_each(
    "text",
    [
        "",
        "key",
        "[MemoryRef:key]",
        "[MemoryRef: ]",
        "[MemoryRef: a b]",
        "[MemoryRef: key - description]",
        "[MemoryRef: key - description - many tokens]",
        "[MemoryRef: key - description - -1 tokens]",
        "[MemoryRef: key - description - \u0661 tokens]",
        f"[MemoryRef: key - {'d' * 81} - 1 tokens]",
        f"[MemoryRef: {'k' * 256}]",
        f"[MemoryRef: key - {'9' * 19} tokens]",
        "[MemoryRef: key - two\nlines - 1 tokens]",
        "[MemoryRef: key - [b] - 1 tokens]",
        "[MemoryRef: key",
        "[MemoryRef: key] and more",
        "[MemoryRef: a][MemoryRef: b]",
    ],
)
def test_anything_else_is_not_a_reference(text: str) -> None:
    """What is nearly a reference is refused, and the message shows the form."""
    with pytest.raises(InvalidReferenceError, match=r"one reads \[MemoryRef: key"):
        MemoryRef.parse(text)


def test_references_are_found_in_order_and_as_often_as_they_stand_there() -> None:
    """Long and short forms, next to brackets and to each other; the same one twice is found twice."""
    text = "[[MemoryRef: a]] ([MemoryRef: b - what it is - 12 tokens][MemoryRef: a]\n[MemoryRef: c"
    assert [MemoryRef("a"), MemoryRef("b", "what it is", 12), MemoryRef("a")] == MemoryRef.find_all(
        text
    )


def test_a_reference_does_not_span_lines_or_other_references() -> None:
    """An opening without an end takes nothing of what follows it."""
    assert [MemoryRef("b")] == MemoryRef.find_all("[MemoryRef: a - text [MemoryRef: b] - 3 tokens]")
    assert MemoryRef.find_all("[MemoryRef: a - text\n - 3 tokens]") == []


@for_each("tokens", [-1, 10**18, True, False, 1.5])
def test_a_count_is_a_plain_whole_number(tokens: int) -> None:
    """A count that would not be rendered as digits is refused."""
    with pytest.raises(InvalidReferenceError):
        MemoryRef("key", "description", tokens)


def test_a_description_needs_a_count() -> None:
    """A reference that could not be told from another form is refused; a description of nothing is none."""
    with pytest.raises(InvalidReferenceError, match="needs a token count"):
        MemoryRef("key", "description")
    assert MemoryRef("key") == MemoryRef("key", " \n\u200b")


@for_each("key", ["a", "A-Z.a_z-09", "k" * 255, "3fa85f64-5717-4562-b3fc-2c963f66afa6", "...", "-"])
def test_a_key_of_ones_own(key: str) -> None:
    """Letters, digits, underscore, dot and hyphen, up to 255 of them."""
    assert key == check_key(key)
    assert [MemoryRef(key)] == MemoryRef.find_all(f"see [MemoryRef: {key}].")


@for_each(
    "key", ["", "a b", "k" * 256, "a\n", "a]", "a/b", "ключ", "é", "\uff11", "a\0", None, 7, b"a"]
)
def test_what_cannot_be_a_key(key: object) -> None:
    """Everything else is refused before it can stand in a reference."""
    with pytest.raises(InvalidKeyError, match=r"not a memory key: .*, such as some_key in"):
        check_key(key)


@property_test
@given(tricky_text, references, tricky_text)
def test_nothing_is_left_of_references(before: str, ref: MemoryRef, after: str) -> None:
    """What is left without references is not a reference either, however they were nested."""
    assert MemoryRef.find_all(without_references(f"{before}{ref}{after}")) == []


def test_what_stands_beside_references_stays() -> None:
    """Only the references go."""
    assert (
        without_references("see [MemoryRef: a] [1], [MemoryRef: b - d - 1 tokens]!")
        == "see  [1], !"
    )
