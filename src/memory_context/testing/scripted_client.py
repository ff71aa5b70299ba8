"""A chat client that follows a script, and the rules that every prompt must keep."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, Self, TypeAlias

from autogen_core import CancellationToken, Component, FunctionCall
from autogen_core.models import (
    AssistantMessage,
    ChatCompletionClient,
    CreateResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    ModelFamily,
    ModelInfo,
    RequestUsage,
    SystemMessage,
    UserMessage,
)
from autogen_core.tools import Tool, ToolSchema
from pydantic import BaseModel

from memory_context.exceptions import NotSerializableError
from memory_context.text.tokens.counter import default_counter

Reply: TypeAlias = str | list[FunctionCall]
Step: TypeAlias = Reply | Callable[[Sequence[LLMMessage]], Reply]

_SOURCE = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_EXACT = (SystemMessage, UserMessage, AssistantMessage, FunctionExecutionResultMessage)


class PromptError(AssertionError):
    """A provider would refuse this prompt."""


class ScriptedChatClientConfig(BaseModel):
    """A script without callables."""

    script: list[str | list[dict[str, str]]]


class ScriptedChatClient(ChatCompletionClient, Component[ScriptedChatClientConfig]):
    """A model that follows a script, for tests and demonstrations without a network.

    Each step is what the model says (a text), calls (a list of `FunctionCall`), or a function that makes one of them of
    the prompt. Every prompt is kept in `prompts` and checked by `check_prompt`.

    Raises:
        PromptError: A provider would refuse the prompt.
        RuntimeError: The script is at its end.
    """

    component_type = "model"
    component_config_schema = ScriptedChatClientConfig
    component_provider_override = "memory_context.testing.ScriptedChatClient"

    def __init__(self, script: Sequence[Step]) -> None:
        self.script = list(script)
        self.prompts: list[list[LLMMessage]] = []
        self._usage = RequestUsage(prompt_tokens=0, completion_tokens=0)

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
        """The script's next reply."""
        check_prompt(messages)
        if len(self.prompts) >= len(self.script):
            message = f"the script has {len(self.script)} steps, and the model was asked once more"
            raise RuntimeError(message)
        step = self.script[len(self.prompts)]
        self.prompts.append(list(messages))
        reply = step(messages) if callable(step) else step
        usage = RequestUsage(
            prompt_tokens=self.count_tokens(messages, tools=tools), completion_tokens=0
        )
        self._usage.prompt_tokens += usage.prompt_tokens
        reason: Literal["stop", "function_calls"] = (
            "stop" if isinstance(reply, str) else "function_calls"
        )
        return CreateResult(finish_reason=reason, content=reply, usage=usage, cached=False)

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
        """The script's next reply, a text word by word first."""
        result = await self.create(messages, tools=tools)
        if isinstance(result.content, str):
            for word in result.content.split(" "):
                yield word
        yield result

    async def close(self) -> None:
        """Nothing to close."""

    def count_tokens(
        self, messages: Sequence[LLMMessage], *, tools: Sequence[Tool | ToolSchema] = ()
    ) -> int:
        """Tokens of the messages' JSON, as memory-context counts them."""
        return sum(default_counter().count(message.model_dump_json()) for message in messages)

    def remaining_tokens(
        self, messages: Sequence[LLMMessage], *, tools: Sequence[Tool | ToolSchema] = ()
    ) -> int:
        """What is left of 128,000."""
        return 128_000 - self.count_tokens(messages, tools=tools)

    def actual_usage(self) -> RequestUsage:
        """The tokens of all prompts so far."""
        return self._usage

    def total_usage(self) -> RequestUsage:
        """The tokens of all prompts so far."""
        return self._usage

    @property
    def model_info(self) -> ModelInfo:
        """A model that calls functions."""
        return ModelInfo(
            vision=False,
            function_calling=True,
            json_output=True,
            structured_output=True,
            family=ModelFamily.UNKNOWN,
            multiple_system_messages=True,
        )

    @property
    def capabilities(self) -> ModelInfo:
        """See `model_info`."""
        return self.model_info

    def _to_config(self) -> ScriptedChatClientConfig:
        if any(callable(step) for step in self.script):
            message = "a script with callables cannot be written down"
            raise NotSerializableError(message)
        return ScriptedChatClientConfig(
            script=[
                step
                if isinstance(step, str)
                else [{"id": c.id, "name": c.name, "arguments": c.arguments} for c in step]
                for step in self.script
                if not callable(step)
            ]
        )

    @classmethod
    def _from_config(cls, config: ScriptedChatClientConfig) -> Self:
        return cls(
            [
                step if isinstance(step, str) else [FunctionCall(**call) for call in step]
                for step in config.script
            ]
        )


def check_prompt(messages: Sequence[LLMMessage], *, open_calls: bool = False) -> None:
    """Check the rules that providers enforce and AutoGen does not.

    System messages come first; each call is answered, completely and at once; results answer the calls before them;
    types are AutoGen's own; sources and arguments are legal.

    Args:
        messages: The prompt.
        open_calls: Whether a call without results is accepted, as a cancelled run leaves it.

    Raises:
        PromptError: With every rule that is broken, and where.
    """
    broken = [*_shapes(messages), *_calls(messages, open_calls=open_calls)]
    if broken:
        raise PromptError("; ".join(broken))


def _shapes(messages: Sequence[LLMMessage]) -> Iterator[str]:
    first = next(
        (i for i, message in enumerate(messages) if not isinstance(message, SystemMessage)),
        len(messages),
    )
    for index, message in enumerate(messages):
        if type(message) not in _EXACT:
            yield f"message {index} has the type {type(message).__name__}"
        if isinstance(message, SystemMessage) and index > first:
            yield f"message {index} is a system message behind others"
        if isinstance(message, UserMessage | AssistantMessage) and not _SOURCE.fullmatch(
            message.source
        ):
            yield f"message {index} has the illegal source {message.source!r}"


def _calls(messages: Sequence[LLMMessage], *, open_calls: bool) -> Iterator[str]:
    waiting: list[str] = []
    for index, message in enumerate(messages):
        if isinstance(message, FunctionExecutionResultMessage):
            for result in message.content:
                if result.call_id not in waiting:
                    yield f"message {index} answers {result.call_id!r}, which nobody called before it"
                else:
                    waiting.remove(result.call_id)
            continue
        if waiting and not open_calls:
            yield f"message {index} comes before the results of {waiting}"
        waiting = []
        if isinstance(message, AssistantMessage) and isinstance(message.content, list):
            yield from _arguments(index, message.content)
            waiting = [call.id for call in message.content]
    if waiting and not open_calls:
        yield f"no results of {waiting}"


def _arguments(index: int, calls: list[FunctionCall]) -> Iterator[str]:
    for call in calls:
        try:
            legal = isinstance(json.loads(call.arguments), dict)
        except ValueError:
            legal = False
        if not legal:
            yield f"message {index} calls {call.name} with arguments that are no JSON object"
