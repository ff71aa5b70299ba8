"""Scopes: every read and write says whose memories it means."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from for_each import for_each
from memory_context.exceptions import InvalidScopeError
from memory_context.model.scope import MAX_NAME, Scope

FIELDS = ("user_id", "agent_id", "thread_id", "tier", "tier_id")
REFUSED: dict[str, object] = {
    "empty": "",
    "blank": "  ",
    "newline": "a\n",
    "NUL": "a\0b",
    "lone surrogate": "\ud800",
    "zero-width space": "ann\u200b",
    "too long": "x" * (MAX_NAME + 1),
    "bool": True,
    "float": 1.0,
    "bytes": b"ann",
    "number that is too long": 10**MAX_NAME,
    "number that Python does not print": 10**5000,
}


def test_a_uuid_is_taken_as_its_text() -> None:
    """Applications number their users so."""
    number = UUID("6f1c1d3e-52f4-4a52-8f0e-0b3a3b1f7a55")
    assert Scope(str(number)) == Scope(number)  # type: ignore[arg-type]


@for_each("field", FIELDS)
@for_each("value", REFUSED.values())
def test_a_name_that_no_column_can_hold_is_refused(field: str, value: object) -> None:
    """Every name of a scope is checked, and the message says which one is wrong."""
    names: dict[str, object] = {"user_id": "ann", field: value}
    with pytest.raises(InvalidScopeError, match=field):
        Scope(**names)  # type: ignore[arg-type]


def test_a_scope_needs_a_user() -> None:
    """None is no user, though it is nobody's agent, thread and tier."""
    with pytest.raises(InvalidScopeError, match="user_id"):
        Scope(None)  # type: ignore[arg-type]


@for_each("field", FIELDS)
@for_each("number, text", [(42, "42"), (0, "0"), (-1, "-1")])
def test_an_integer_is_taken_as_its_text(field: str, number: int, text: str) -> None:
    """User 42 and user "42" are one user."""
    names: dict[str, object] = {"user_id": "ann", field: number}
    scope = Scope(**names)  # type: ignore[arg-type]
    assert text == getattr(scope, field)
    assert scope == Scope(**{**names, field: text})  # type: ignore[arg-type]


@examples(100)
@given(st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=MAX_NAME))
def test_any_printable_name_is_kept_as_it_is(name: str) -> None:
    """Names are compared letter by letter: nothing is trimmed, folded or normalised."""
    assert name == Scope(name, thread_id=name).user_id == Scope("ann", thread_id=name).thread_id


@for_each("name", ["x" * MAX_NAME, " ann ", "Ann Müller", "用户"])
def test_names_of_every_length_and_script(name: str) -> None:
    """Up to 255 characters, spaces within or around them."""
    assert name == Scope(name).user_id


def test_narrowed_names_only_what_is_set() -> None:
    """The columns that a record must match, the user first."""
    assert {"user_id": "ann"} == Scope("ann").narrowed()
    scope = Scope("ann", tier_id="7", tier="task", agent_id="coder", thread_id="t")
    expected = [
        ("user_id", "ann"),
        ("agent_id", "coder"),
        ("thread_id", "t"),
        ("tier", "task"),
        ("tier_id", "7"),
    ]
    assert expected == list(scope.narrowed().items())


def test_equal_scopes_are_one_key() -> None:
    """A scope can be a dictionary's key, and cannot be changed."""
    assert {Scope("ann", "coder"): 1} == {Scope("ann", "coder"): 1}
    with pytest.raises(AttributeError):
        Scope("ann").user_id = "bob"  # type: ignore[misc]
