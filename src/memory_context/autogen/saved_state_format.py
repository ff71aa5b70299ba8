"""The saved state of a `MemoryContext`: its format, and the checks for loading one, including those of AutoGen's contexts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from autogen_core.models import LLMMessage
from pydantic import BaseModel, Field, ValidationError

from memory_context.conversation.conversation_facts import ConversationFacts
from memory_context.exceptions import InvalidScopeError, StateError, StateVersionError
from memory_context.model.json_object import JsonObject
from memory_context.model.scope import Scope

VERSION = 1


class ContextFacts(BaseModel):
    """The facts that a context knows about its messages.

    Attributes:
        version: The version of this format.
        user_id: The user whose memories the references in the messages name.
        thread_id: The id of the conversation.
        run_id: The run whose notes are open until a person's next message.
        seen: The number of messages that a model has seen, and for which recall has been decided.
        conversation: The facts about the conversation (`ConversationFacts`).
        messages: The facts about each message (`MessageFacts`), or about each result where a message holds several.
    """

    version: int = Field(default=VERSION, ge=1, strict=True)
    user_id: str
    thread_id: str
    run_id: str | None = None
    seen: int = Field(default=0, ge=0)
    conversation: ConversationFacts = Field(default_factory=ConversationFacts)
    messages: list[JsonObject] = Field(default_factory=list[JsonObject])


class ContextState(BaseModel):
    """The state of a context. AutoGen's own contexts can load it, too: they take the messages and ignore the rest."""

    messages: list[LLMMessage] = Field(default_factory=list[LLMMessage])
    memory_context: ContextFacts | None = None


def parse_state(state: object) -> ContextState:
    """Check and return a saved state.

    Raises:
        StateVersionError: The state was saved by a newer version.
        StateError: *state* is not the state of a context.
    """
    match state:
        case {"memory_context": {"version": int(version)}} if version > VERSION:
            raise StateVersionError(
                f"the state has version {version}, but this memory-context reads up to {VERSION}: upgrade memory-context"
            )
        case {"messages": object()}:
            pass
        case _:
            raise StateError(
                f"not a context's state: it must be a mapping with 'messages', not {state!r:.80}"
            )
    try:
        found = ContextState.model_validate(dict(cast("Mapping[str, Any]", state)))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise StateError(
            f"not a context's state: {error.error_count()} errors, the first in {field}: {first['msg']}"
        ) from error
    facts = found.memory_context
    if facts:
        try:
            Scope(facts.user_id, thread_id=facts.thread_id)
            if facts.run_id is not None:
                Scope(facts.user_id, places=frozenset({("run", facts.run_id)}))
        except InvalidScopeError as error:
            raise StateError(f"not a context's state: {error}") from error
    return found
