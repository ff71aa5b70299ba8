"""What a context saves, and what it accepts: its own states and those of AutoGen's contexts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from autogen_core.models import LLMMessage, UserMessage
from pydantic import BaseModel, Field, ValidationError

from memory_context.exceptions import InvalidScopeError, StateError, StateVersionError
from memory_context.model.scope import Scope

VERSION = 1

Ranges = tuple[tuple[int, int], ...]


class ContextFacts(BaseModel):
    """What a context knows beyond its messages.

    Attributes:
        version: The version of this form.
        user_id: Whose memories the references in the messages lead to.
        thread_id: The conversation.
        shown: How many messages a model has seen; what they need from memory has been decided.
        references: For each reference in the conversation, the ranges of lines that are in sight.
        trusted: The keys that may be passed on to tools; None in a state of before they were told apart.
        named: The keys that a person has named in a message that no model has seen yet.
        placeholders: The hashes of the placeholders in the messages.
        reading: Texts that are shown in full until they are folded: message, place in its content, reads.
        held: A recalled text that waits for the next group of messages.
        run_id: The run that is going on.
        noted: For each of its notes that stands in the messages, when it was last changed.
        judge_calls: How often a judge with a model was asked.
        judge_tokens: What that has cost.
    """

    version: int = VERSION
    user_id: str
    thread_id: str
    shown: int = Field(default=0, ge=0)
    references: dict[str, Ranges] = Field(default_factory=dict)
    trusted: list[str] | None = None
    named: list[str] = Field(default_factory=list)
    placeholders: list[str] = Field(default_factory=list)
    reading: list[tuple[int, int, int]] = Field(default_factory=list[tuple[int, int, int]])
    held: UserMessage | None = None
    run_id: str | None = None
    noted: dict[str, str] = Field(default_factory=dict)
    judge_calls: int = 0
    judge_tokens: int = 0


class ContextState(BaseModel):
    """A context's state. AutoGen's own contexts load it too; they keep the messages and leave the rest."""

    messages: list[LLMMessage] = Field(default_factory=list[LLMMessage])
    memory_context: ContextFacts | None = None


def parse_state(state: object) -> ContextState:
    """The state that `state` holds.

    Raises:
        StateVersionError: It was saved by a newer version.
        StateError: It is not a context's state.
    """
    version = _version(state)
    if version > VERSION:
        message = f"the state has version {version}, this memory-context knows {VERSION}: upgrade it to load the state"
        raise StateVersionError(message)
    if not isinstance(state, Mapping) or "messages" not in state:
        message = f"not a context's state, which is a mapping with 'messages': {state!r:.80}"
        raise StateError(message)
    try:
        found = ContextState.model_validate(dict(cast("Mapping[str, Any]", state)))
    except ValidationError as error:
        message = f"not a context's state: {error.error_count()} errors, the first: {error.errors()[0]['msg']}"
        raise StateError(message) from error
    if found.memory_context is not None:
        _check_names(found.memory_context)
    return found


def _check_names(facts: ContextFacts) -> None:
    try:
        Scope(facts.user_id, thread_id=facts.thread_id)
    except InvalidScopeError as error:
        message = f"not a context's state: {error}"
        raise StateError(message) from error


def _version(state: object) -> int:
    """The version that a state names; this one where it names none."""
    facts = (
        cast("Mapping[str, Any]", state).get("memory_context")
        if isinstance(state, Mapping)
        else None
    )
    version = (
        cast("Mapping[str, Any]", facts).get("version") if isinstance(facts, Mapping) else None
    )
    return version if isinstance(version, int) else VERSION
