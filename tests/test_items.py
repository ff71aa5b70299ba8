"""The record: what is stored for a value, and the facts of it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from decimal import Decimal
from typing import Any, cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from examples import examples
from for_each import for_each
from memory_context import MemoryManager
from memory_context.exceptions import InvalidContentError
from memory_context.model.generated_keys import KeyGenerator
from memory_context.model.item import (
    BINARY,
    JSON,
    TEXT,
    Content,
    MemoryItem,
    check_metadata,
    count_lines,
    encoded,
    hash_content,
    identity_of,
    is_storable,
    to_content,
)
from memory_context.model.reference import MemoryRef

any_text = st.text(st.characters(exclude_categories=()))
plain_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | any_text,
    lambda children: (
        st.lists(children, max_size=4) | st.dictionaries(any_text, children, max_size=4)
    ),
    max_leaves=10,
)
property_test = examples(100)


def _item(content: Content = "text", **facts: Any) -> MemoryItem:
    digest = hash_content(content)
    columns = {
        "memory_key": "",
        "content_hash": digest,
        "identity": identity_of(content, digest),
        **facts,
    }
    return MemoryItem(user_id="ann", content=content, **columns)


def _circle() -> list[object]:
    circle: list[object] = []
    circle.append(circle)
    return circle


@for_each(
    "value, content, media_type",
    [
        ("", "", TEXT),
        ("a\0\ud800", "a\0\ud800", TEXT),
        ('{"a": 1}', '{"a": 1}', TEXT),
        (b"\xff\0", b"\xff\0", BINARY),
        (bytearray(b"ab"), b"ab", BINARY),
        (memoryview(b"abcd")[::2], b"ac", BINARY),
        ({"b": "é", "a": [1, None]}, '{"b": "é", "a": [1, null]}', JSON),
        ([], "[]", JSON),
        ((1, 2), "[1, 2]", JSON),
    ],
)
def test_what_is_stored_for_a_value(value: object, content: Content, media_type: str) -> None:
    """Text and bytes as they are; what JSON can express as JSON text, in its own order."""
    stored = to_content(value)
    assert (content, media_type) == stored
    assert type(content) is type(stored[0])


@for_each("value", [None, 7, 1.5, {1}, object(), {"a": object()}, {("a",): 1}, [b"x"], _circle()])
def test_content_of_another_kind_is_refused(value: object) -> None:
    """What would not come back as it was is not stored."""
    with pytest.raises(InvalidContentError):
        to_content(value)


def test_what_to_do_with_content_of_another_kind() -> None:
    """The error says how it can be stored."""
    with pytest.raises(InvalidContentError, match="not Decimal: give str"):
        to_content(Decimal("1.5"))
    with pytest.raises(InvalidContentError, match="write such values as text"):
        to_content({"price": Decimal("1.5")})


def test_content_that_is_nested_too_deeply_is_refused() -> None:
    """A list of 200,000 lists in each other is an error that a caller can catch."""
    deep: list[object] = []
    for _ in range(200_000):
        deep = [deep]
    with pytest.raises(InvalidContentError, match="content"):
        to_content(deep)
    with pytest.raises(InvalidContentError, match="metadata"):
        check_metadata({"deep": deep})
    while deep:
        (deep,) = deep  # type: ignore[assignment] # taken apart by hand: freeing it at once recurses


@property_test
@given(st.dictionaries(any_text, plain_json, max_size=4) | st.lists(plain_json, max_size=4))
def test_json_content_says_what_was_given(value: object) -> None:
    """The JSON text of a dict or list reads back as the same value."""
    content, media_type = to_content(value)
    assert (value, JSON) == (json.loads(content), media_type)


@property_test
@given(st.dictionaries(any_text, plain_json, max_size=4))
def test_metadata_comes_back_or_is_refused(metadata: dict[str, Any]) -> None:
    """Metadata is refused if, and only if, a text in it has NUL bytes or lone surrogates."""
    if is_storable("".join(_texts(metadata))):
        assert metadata == check_metadata(metadata)
    else:
        with pytest.raises(InvalidContentError, match="NUL bytes or lone surrogates"):
            check_metadata(metadata)


def _texts(value: object) -> list[str]:
    match value:
        case str():
            return [value]
        case list():
            return [text for part in value for text in _texts(part)]
        case dict():
            return [text for pair in value.items() for part in pair for text in _texts(part)]
        case _:
            return []


@for_each("text", ["\\u0000", '"\\u0000"', "\\\\u0000", "\\ud800", "C:\\users"])
def test_metadata_may_speak_of_escapes(text: str) -> None:
    """Backslash, u and four zeros are six ordinary characters: a regular expression or a line of code has them."""
    assert {"pattern": text} == check_metadata({"pattern": text})


@for_each(
    "metadata",
    [
        {"a": float("nan")},
        {"a": float("inf")},
        {"a": object()},
        {"a": b"x"},
        {("a",): 1},
        {"a": "\0"},
        {"\0": 1},
        {"a": ["\ud800"]},
        {"a": _circle()},
        {"a": 10**5000},
        [1],
        "text",
        7,
    ],
)
def test_metadata_that_no_database_takes_is_refused(metadata: Any) -> None:
    """NaN, objects, bytes, NUL, lone surrogates, and what is no JSON object."""
    with pytest.raises(InvalidContentError):
        check_metadata(metadata)


def test_metadata_is_a_copy() -> None:
    """What the caller does to their dictionary later does not change the record; none is an empty one."""
    args = ["-v"]
    kept = check_metadata({"args": args, "range": (2, 3)})
    args.append("-x")
    assert {"args": ["-v"], "range": [2, 3]} == kept
    assert {} == check_metadata(None) == check_metadata({})


@for_each(
    "content, lines",
    [
        ("", 0),
        ("a", 1),
        ("a\n", 1),
        ("a\nb", 2),
        ("\n", 1),
        ("\n\n", 2),
        ("a\r\nb", 2),
        ("a\x85b\u2028c\x0cd", 1),
        (b"a\nb", 0),
    ],
)
def test_lines_are_counted_as_an_editor_does(content: Content, lines: int) -> None:
    """A last line needs no line break, an empty text has no line, bytes have none either."""
    assert lines == count_lines(content)


@property_test
@given(any_text | st.binary())
@example("a\ud800é")
def test_the_hash_is_that_of_the_bytes(content: Content) -> None:
    """SHA-256 of the content as UTF-8, defined for lone surrogates too."""
    assert hashlib.sha256(encoded(content)).hexdigest() == hash_content(content)
    if isinstance(content, str):
        assert content == encoded(content).decode("utf-8", "surrogatepass")


def test_text_and_its_bytes_are_two_records() -> None:
    """Each must come back as it was stored."""
    assert hash_content("é") == hash_content("é".encode())
    assert identity_of("é", hash_content("é")) != identity_of("é".encode(), hash_content("é"))


@for_each(
    "text, storable",
    [("", True), ("é 👍", True), ("a\0", False), ("\udcff", False), ("\x01", True)],
)
def test_what_a_text_column_takes(text: str, *, storable: bool) -> None:
    """Everything but NUL and lone surrogates."""
    assert storable == is_storable(text)


@property_test
@given(any_text | st.binary(), any_text, st.integers(0, 10**9))
def test_every_item_has_a_reference(content: Content, summary: str, tokens: int) -> None:
    """Key, summary and count make a reference that can be read again, whatever the record holds."""
    item = _item(content, summary=summary, token_count=tokens)
    item = replace(item, memory_key=KeyGenerator().new_key(summary))
    assert item.ref == MemoryRef.parse(item.ref.render())
    assert (item.memory_key, tokens) == (item.ref.key, item.ref.tokens)


def test_binary_content_reads_as_one_line() -> None:
    """Text is its own text; of bytes a line says what they are."""
    assert _item("a\nb").text == "a\nb"
    assert _item(b"\x89PNG", media_type="image/png").text == "(image/png, 4 bytes)"


@for_each(
    "importance, priority",
    [(0.0, 1), (0.04, 1), (0.1, 1), (0.5, 5), (0.85, 8), (0.9, 9), (1.0, 10)],
)
def test_priority(importance: float, priority: int) -> None:
    """A memory's priority, 1 to 10, is its importance in the steps that agents use."""
    with MemoryManager("sqlite://", user_id="ann") as manager:
        assert priority == manager.remember("x", importance=importance).priority


def test_repr_of_a_secret_shows_nothing_of_it() -> None:
    """Tracebacks, logs and test reports print records: that of a secret shows no content, no description and no hash."""
    with MemoryManager("sqlite://", user_id="ann") as manager:
        for settings in cast("list[dict[str, Any]]", [{"type": "secret"}, {"tags": ["secret"]}]):
            key = manager.store("hunter2", "the pin hunter2", metadata={"n": "hunter2"}, **settings)
            item = manager.get(key)
            assert key in repr(item)
            assert "hunter2" not in repr(item)
            assert item.content_hash not in repr(item)
        plain = manager.get(manager.store("plain text"))
    assert "content='plain text'" in repr(plain)
