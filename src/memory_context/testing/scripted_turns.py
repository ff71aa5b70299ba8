"""A conversation as a script: who says what, what the model replies, and what its tools give."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Protocol

from pydantic import TypeAdapter

from memory_context.conversation.conversation import ConversationSettings
from memory_context.conversation.message import FunctionCall, Message
from memory_context.stores import MemoryStore

_KEY_NUMBER = re.compile("«([0-9]+)»")


@dataclass(frozen=True, slots=True)
class ScriptedResult:
    """A tool call of the model, and what the tool gives.

    Attributes:
        call: The call.
        text: The tool's text; None for a memory tool of the host's, which gives its own.
        is_error: Whether the tool fails, with this text.
    """

    call: FunctionCall
    text: str | None
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class ScriptedReply:
    """What the model replies to a prompt: words, and calls side by side."""

    text: str
    results: tuple[ScriptedResult, ...] = ()


@dataclass(frozen=True, slots=True)
class ScriptedTurn:
    """What is said to the model, and its replies until one calls no tools.

    ``«0»`` in a text stands for the first key that the prompts have shown so far, ``«1»`` for the second.

    Attributes:
        said: The messages of persons, of other agents, and of the system.
        replies: The replies; the last one calls nothing.
        after_restart: Whether another process goes on here with what was saved.
        store_fails: Whether the store fails during the turn.
    """

    said: tuple[Message, ...]
    replies: tuple[ScriptedReply, ...]
    after_restart: bool = False
    store_fails: bool = False

    def naming(self, keys: Sequence[str]) -> ScriptedTurn:
        """Return the turn with *keys* in place of their numbers; numbers beyond the last one begin again."""

        def key_of(number: re.Match[str]) -> str:
            return keys[int(number[1]) % len(keys)] if keys else "nothing"

        # A key has no character that JSON escapes.
        text = json.dumps(asdict(self), ensure_ascii=False)
        return _TURN.validate_json(_KEY_NUMBER.sub(key_of, text))


_TURN = TypeAdapter(ScriptedTurn)


@dataclass(frozen=True, slots=True)
class HostStart:
    """How a host begins its conversation.

    Attributes:
        store: Where the memories are.
        user_id: Whose they are.
        thread_id: The name of the conversation.
        settings: How it is kept.
        keeps_notes: Whether the agent keeps notes; each turn is a run then.
    """

    store: MemoryStore
    user_id: str
    thread_id: str
    settings: ConversationSettings
    keeps_notes: bool = False


class ConversationHost(Protocol):
    """An agent framework with one conversation, behind its adapter."""

    async def turn(self, turn: ScriptedTurn) -> list[list[Message]]:
        """Let the agent run one turn, and return the prompts that its model was sent.

        Ids and facts of the messages do not matter; the source of the model is ``assistant``.
        """
        ...

    async def restart(self) -> None:
        """Save the conversation, and take it up as a new process would."""
        ...

    async def close(self) -> None:
        """Let go of what the host holds."""
        ...
