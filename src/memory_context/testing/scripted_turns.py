"""A conversation as a script: the messages, the model's replies, and the results of its tools."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from pydantic import TypeAdapter

from memory_context.conversation.conversation import ConversationSettings
from memory_context.conversation.message import FunctionCall, Message
from memory_context.stores import MemoryStore

_KEY_NUMBER = re.compile("«([0-9]+)»")


def next_reply(script: Sequence[Any], prompts: list[Any], prompt: Sequence[Any]) -> Any:  # noqa: ANN401 - the host's
    """Return the reply of a script to *prompt*, which is added to *prompts*.

    Raises:
        RuntimeError: The script has no further step.
    """
    if len(prompts) >= len(script):
        raise RuntimeError(f"the script has {len(script)} steps, and the model was asked once more")
    step = script[len(prompts)]
    prompts.append(list(prompt))
    return step(prompt) if callable(step) else step


@dataclass(frozen=True, slots=True)
class ScriptedResult:
    """A tool call of the model, and its result.

    Attributes:
        call: The call.
        text: The text of the result; None for a memory tool of the host, which makes its own.
        is_error: Whether the tool fails, with this text as its error.
    """

    call: FunctionCall
    text: str | None
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class ScriptedReply:
    """The model's reply to a prompt: a text, and parallel calls with their results."""

    text: str
    results: tuple[ScriptedResult, ...] = ()


@dataclass(frozen=True, slots=True)
class ScriptedTurn:
    """The messages to the model, and its replies until one calls no tool.

    ``«0»`` in a text stands for the first key that the prompts have shown so far, ``«1»`` for the second.

    Attributes:
        said: The messages of persons, other agents and the system.
        replies: The replies; the last one calls no tool.
        after_restart: Whether the conversation was saved, and another process continues it with this turn.
        store_fails: Whether the store fails during the turn.
    """

    said: tuple[Message, ...]
    replies: tuple[ScriptedReply, ...]
    after_restart: bool = False
    store_fails: bool = False

    def naming(self, keys: Sequence[str]) -> ScriptedTurn:
        """Return the turn with *keys* in place of their numbers; numbers beyond the last key start over at the first."""

        def key_of(number: re.Match[str]) -> str:
            return keys[int(number[1]) % len(keys)] if keys else "nothing"

        # Replacing in the JSON is safe, because no character of a key is escaped there.
        text = json.dumps(asdict(self), ensure_ascii=False)
        return _TURN.validate_json(_KEY_NUMBER.sub(key_of, text))


_TURN = TypeAdapter(ScriptedTurn)


@dataclass(frozen=True, slots=True)
class HostStart:
    """The arguments with which a host begins its conversation.

    Attributes:
        store: The store of the memories.
        user_id: The user to whom they belong.
        thread_id: The name of the conversation.
        settings: The settings of the conversation.
        keeps_notes: Whether the agent keeps notes; if so, each turn is a run.
    """

    store: MemoryStore
    user_id: str
    thread_id: str
    settings: ConversationSettings
    keeps_notes: bool = False


class ConversationHost(Protocol):
    """One conversation in an agent framework, behind this library's adapter for it."""

    async def turn(self, turn: ScriptedTurn) -> list[list[Message]]:
        """Let the agent run one turn, and return the prompts that its model was sent.

        Ids and facts of the messages do not matter; the source of the model is ``assistant``.
        """
        ...

    async def restart(self) -> None:
        """Save the conversation, and load it again as a new process would."""
        ...

    async def close(self) -> None:
        """Release the resources of the host."""
        ...
