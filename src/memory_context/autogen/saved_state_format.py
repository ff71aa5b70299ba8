"""What a context saves, and what it accepts: its own states and those of AutoGen's contexts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from autogen_core.models import LLMMessage
from pydantic import BaseModel, Field, ValidationError

from memory_context.conversation.conversation import ConversationFacts
from memory_context.exceptions import InvalidScopeError, StateError, StateVersionError
from memory_context.model.scope import Scope

VERSION = 1


class ContextFacts(BaseModel):
    """What a context knows beyond its messages.

    Attributes:
        version: The version of this form.
        user_id: Whose memories the references in the messages lead to.
        thread_id: The conversation.
        run_id: The run whose notes are open until a person's next message.
        seen: How many messages a model has seen; what they need from memory has been decided.
        conversation: What is known of the conversation (`ConversationFacts`).
        messages: What is known of each message (`MessageFacts`); of each result, where one message holds several.
    """

    version: int = VERSION
    user_id: str
    thread_id: str
    run_id: str | None = None
    seen: int = Field(default=0, ge=0)
    conversation: ConversationFacts = Field(default_factory=ConversationFacts)
    messages: list[dict[str, Any]] = Field(default_factory=list[dict[str, Any]])


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
        raise StateVersionError(
            f"the state has version {version}, this memory-context knows {VERSION}: upgrade it to load the state"
        )
    if not isinstance(state, Mapping) or "messages" not in state:
        raise StateError(
            f"not a context's state, which is a mapping with 'messages': {state!r:.80}"
        )
    try:
        found = ContextState.model_validate(dict(cast("Mapping[str, Any]", state)))
    except ValidationError as error:
        raise StateError(
            f"not a context's state: {error.error_count()} errors, the first: {error.errors()[0]['msg']}"
        ) from error
    if found.memory_context is not None:
        _check_names(found.memory_context)
    return found


def _check_names(facts: ContextFacts) -> None:
    try:
        Scope(facts.user_id, thread_id=facts.thread_id)
        if facts.run_id is not None:
            Scope(facts.user_id, places=frozenset({("run", facts.run_id)}))
    except InvalidScopeError as error:
        raise StateError(f"not a context's state: {error}") from error


def _version(state: object) -> int:
    """The version that a state names; this one where it names none."""
    match state:
        case {"memory_context": {"version": int(version)}}:
            return version
        case _:
            return VERSION
