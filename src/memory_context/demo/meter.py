"""What is sent to the model, counted: as it is, and as it would be if nothing were ever folded."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, Protocol

from autogen_core import CancellationToken, FunctionCall
from autogen_core.model_context import ChatCompletionContext, UnboundedChatCompletionContext
from autogen_core.models import (
    AssistantMessage,
    ChatCompletionClient,
    CreateResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    ModelInfo,
    RequestUsage,
    SystemMessage,
)
from autogen_core.tools import Tool, ToolSchema
from pydantic import BaseModel

from memory_context.autogen import MemoryContext
from memory_context.autogen.messages import calls_of
from memory_context.autogen.token_ledger import MESSAGE_TOKENS, billed
from memory_context.exceptions import MemoryContextError
from memory_context.model.tool_names import RETRIEVE, SEARCH, STORE
from memory_context.text.tokens.counter import default_counter

MEMORY_TOOLS = frozenset({RETRIEVE, SEARCH, STORE})


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the model.

    Attributes:
        newest: Where the newest message comes from: ``user``, or the tools whose results it holds.
        messages: The messages in the prompt.
        conversation: The tokens of those that are neither the system message nor the tools: what a limit is for.
        sent: The tokens that were sent: messages and descriptions of tools.
        without: The same without memory-context; None for a call that would not have been needed then.
        kept: Whether the prompt begins with the whole prompt before it.
    """

    newest: str
    messages: int
    conversation: int
    sent: int
    without: int | None
    kept: bool


class Watcher(Protocol):
    """Sees the conversation as the model sees it."""

    def prompted(
        self, call: Call, news: Sequence[LLMMessage], originals: Mapping[str, str]
    ) -> None:
        """The messages that the model has not seen before, and by the ids of their calls the full texts of results."""

    def replied(self, reply: str | list[FunctionCall]) -> None:
        """What the model says, or calls."""


class ShadowedContext(ChatCompletionContext):
    """A `MemoryContext`, and beside it what an agent without memory-context would have kept: everything, in full."""

    def __init__(self, memory: MemoryContext) -> None:
        super().__init__()
        self.memory = memory
        self.shadow = UnboundedChatCompletionContext()
        self.shadow_tokens = 0

    async def add_message(self, message: LLMMessage) -> None:
        """Add `message` to both; what concerns the memory tools only to the one that has them."""
        await self.memory.add_message(message)
        plain = _without_memory(message)
        if plain is not None:
            await self.shadow.add_message(plain)
            self.shadow_tokens += _tokens([plain])

    async def get_messages(self) -> list[LLMMessage]:
        """What the `MemoryContext` shows."""
        return await self.memory.get_messages()

    async def clear(self) -> None:
        """Forget both."""
        await self.memory.clear()
        await self.shadow.clear()
        self.shadow_tokens = 0


class MeteredClient(ChatCompletionClient):
    """Any client, with every call counted and shown to a watcher; `task` is what its agent was told at the start."""

    def __init__(
        self, client: ChatCompletionClient, context: ShadowedContext, watcher: Watcher, task: str
    ) -> None:
        self._client = client
        self._context = context
        self._watcher = watcher
        self._task = task
        self._prompt: list[LLMMessage] = []

    async def create(
        self,
        messages: Sequence[LLMMessage],
        *,
        tools: Sequence[Tool | ToolSchema] = (),
        tool_choice: Tool | Literal["auto", "required", "none"] = "auto",
        json_output: bool | type[BaseModel] | None = None,
        extra_create_args: Mapping[str, Any] | None = None,
        cancellation_token: CancellationToken | None = None,
    ) -> CreateResult:
        """The client's reply.

        Raises:
            MemoryContextError: The client could not get one; its own error is the cause.
        """
        await self._note(messages, tools)
        try:
            result = await self._client.create(
                messages,
                tools=tools,
                tool_choice=tool_choice,
                json_output=json_output,
                extra_create_args=extra_create_args or {},
                cancellation_token=cancellation_token,
            )
        except Exception as error:
            message = f"the model gave no answer: {type(error).__name__}: {error}"
            raise MemoryContextError(message) from error
        self._watcher.replied(result.content)
        return result

    async def create_stream(
        self,
        messages: Sequence[LLMMessage],
        *,
        tools: Sequence[Tool | ToolSchema] = (),
        tool_choice: Tool | Literal["auto", "required", "none"] = "auto",
        json_output: bool | type[BaseModel] | None = None,
        extra_create_args: Mapping[str, Any] | None = None,
        cancellation_token: CancellationToken | None = None,
    ) -> AsyncGenerator[str | CreateResult, None]:
        """The client's reply, in one piece."""
        yield await self.create(
            messages,
            tools=tools,
            tool_choice=tool_choice,
            json_output=json_output,
            extra_create_args=extra_create_args,
            cancellation_token=cancellation_token,
        )

    async def close(self) -> None:
        """Close the client."""
        await self._client.close()

    def actual_usage(self) -> RequestUsage:
        """The client's."""
        return self._client.actual_usage()

    def total_usage(self) -> RequestUsage:
        """The client's."""
        return self._client.total_usage()

    def count_tokens(
        self, messages: Sequence[LLMMessage], *, tools: Sequence[Tool | ToolSchema] = ()
    ) -> int:
        """The client's."""
        return self._client.count_tokens(messages, tools=tools)

    def remaining_tokens(
        self, messages: Sequence[LLMMessage], *, tools: Sequence[Tool | ToolSchema] = ()
    ) -> int:
        """The client's."""
        return self._client.remaining_tokens(messages, tools=tools)

    @property
    def model_info(self) -> ModelInfo:
        """The client's."""
        return self._client.model_info

    @property
    def capabilities(self) -> ModelInfo:  # AutoGen's deprecated name of model_info
        """See `model_info`."""
        return self._client.model_info

    async def _note(
        self, messages: Sequence[LLMMessage], tools: Sequence[Tool | ToolSchema]
    ) -> None:
        kept = await self._context.shadow.get_messages()
        originals = {
            result.call_id: result.content for message in kept for result in _results(message)
        }
        self._watcher.prompted(
            self._call(messages, tools), messages[len(self._prompt) :], originals
        )
        self._prompt = list(messages)

    def _call(self, messages: Sequence[LLMMessage], tools: Sequence[Tool | ToolSchema]) -> Call:
        needed = not all(name in MEMORY_TOOLS for name in _names(messages[-1]))
        plain_tools = (tool for tool in tools if _name(tool) not in MEMORY_TOOLS)
        task = _tokens([SystemMessage(content=self._task)])
        return Call(
            newest=", ".join(_names(messages[-1])),
            messages=len(messages),
            conversation=_tokens(
                message for message in messages if not isinstance(message, SystemMessage)
            ),
            sent=_tokens(messages) + _tokens_of_tools(tools),
            without=task + self._context.shadow_tokens + _tokens_of_tools(plain_tools)
            if needed
            else None,
            kept=list(messages[: len(self._prompt)]) == self._prompt,
        )


def _results(message: LLMMessage) -> Iterable[Any]:
    return message.content if isinstance(message, FunctionExecutionResultMessage) else ()


def _names(message: LLMMessage) -> list[str]:
    """What made `message`: the tools whose results it holds, or its source."""
    return [result.name for result in _results(message)] or [getattr(message, "source", "system")]


def _without_memory(message: LLMMessage) -> LLMMessage | None:
    """`message` without calls and results of the memory tools; None if nothing is left."""
    if isinstance(message, FunctionExecutionResultMessage):
        results = [result for result in message.content if result.name not in MEMORY_TOOLS]
        return FunctionExecutionResultMessage(content=results) if results else None
    if isinstance(message, AssistantMessage) and (calls := calls_of(message)):
        others = [call for call in calls if call.name not in MEMORY_TOOLS]
        return message.model_copy(update={"content": others}) if others else None
    return message


def _tokens(messages: Iterable[LLMMessage]) -> int:
    return sum(MESSAGE_TOKENS + sum(map(_count, billed(message))) for message in messages)


def _tokens_of_tools(tools: Iterable[Tool | ToolSchema]) -> int:
    return sum(
        _count(json.dumps(tool if isinstance(tool, dict) else tool.schema)) for tool in tools
    )


def _name(tool: Tool | ToolSchema) -> str:
    return tool["name"] if isinstance(tool, dict) else tool.name


@lru_cache(maxsize=4000)
def _count(text: str) -> int:
    return default_counter().count(text)
