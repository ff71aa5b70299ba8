"""A chat client of AutoGen that follows a script, and a check of the rules that every prompt must follow."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from typing import Any, Literal, Self, TypeAlias

from autogen_core import Component, FunctionCall
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
from pydantic import BaseModel

from memory_context.exceptions import NotSerializableError
from memory_context.text.tokens.counter import default_counter

Reply: TypeAlias = str | list[FunctionCall]
Step: TypeAlias = Reply | Callable[[Sequence[LLMMessage]], Reply]

_SOURCE = re.compile(r"[a-zA-Z0-9_-]{1,64}")  # what OpenAI accepts as a message's name
_EXACT = (SystemMessage, UserMessage, AssistantMessage, FunctionExecutionResultMessage)


class PromptError(AssertionError):
    """A provider would refuse this prompt."""


class ScriptedChatClientConfig(BaseModel):
    """A script without functions, as a component's configuration holds it."""

    script: list[Reply]


class ScriptedChatClient(ChatCompletionClient, Component[ScriptedChatClientConfig]):
    """A model that follows a script, for tests and demonstrations without a network.

    Each step is a text that the model says, a list of `FunctionCall` that it makes, or a function that takes the prompt
    and returns one of these. Every prompt is recorded in `prompts` and checked by `check_prompt`.

    Raises:
        PromptError: A provider would refuse the prompt.
        RuntimeError: The script has no further step.
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
        **_: Any,  # noqa: ANN401 - AutoGen's options, which a script ignores
    ) -> CreateResult:
        """Return the script's next reply."""
        check_prompt(messages)
        if len(self.prompts) >= len(self.script):
            raise RuntimeError(
                f"the script has {len(self.script)} steps, and the model was asked once more"
            )
        step = self.script[len(self.prompts)]
        self.prompts.append(list(messages))
        reply = step(messages) if callable(step) else step
        usage = RequestUsage(prompt_tokens=self.count_tokens(messages), completion_tokens=0)
        self._usage.prompt_tokens += usage.prompt_tokens
        reason: Literal["stop", "function_calls"] = "function_calls"
        if isinstance(reply, str):
            reason = "stop"
        return CreateResult(finish_reason=reason, content=reply, usage=usage, cached=False)

    async def create_stream(
        self,
        messages: Sequence[LLMMessage],
        **_: Any,  # noqa: ANN401 - as those of `create`
    ) -> AsyncGenerator[str | CreateResult, None]:
        """Yield the words of the script's next reply, then the reply itself."""
        result = await self.create(messages)
        if isinstance(result.content, str):
            for word in result.content.split(" "):
                yield word
        yield result

    async def close(self) -> None:
        """Do nothing: there is no connection to close."""

    def count_tokens(self, messages: Sequence[LLMMessage], **_: Any) -> int:  # noqa: ANN401 - tools
        """Count the tokens of the messages' JSON as memory-context does; tools cost none."""
        return sum(default_counter().count(message.model_dump_json()) for message in messages)

    def remaining_tokens(self, messages: Sequence[LLMMessage], **_: Any) -> int:  # noqa: ANN401 - tools
        """Return how many of 128,000 tokens the messages leave."""
        return 128_000 - self.count_tokens(messages)

    def actual_usage(self) -> RequestUsage:
        """Return the tokens of all prompts so far."""
        return self._usage

    total_usage = actual_usage

    @property
    def model_info(self) -> ModelInfo:
        """Describe a model that calls functions, sees no images, and accepts system messages only at the beginning."""
        return ModelInfo(
            vision=False,
            function_calling=True,
            json_output=True,
            structured_output=True,
            family=ModelFamily.UNKNOWN,
            multiple_system_messages=False,
        )

    @property
    def capabilities(self) -> ModelInfo:
        """Return `model_info` under AutoGen's former name for it."""
        return self.model_info

    def _to_config(self) -> ScriptedChatClientConfig:
        replies: list[Reply] = []
        for step in self.script:
            if callable(step):
                raise NotSerializableError("a script with functions cannot be serialized")
            replies.append(step)
        return ScriptedChatClientConfig(script=replies)

    @classmethod
    def _from_config(cls, config: ScriptedChatClientConfig) -> Self:
        return cls(config.script)


def check_prompt(messages: Sequence[LLMMessage], *, open_calls: bool = False) -> None:
    """Check the rules that providers enforce and AutoGen does not.

    System messages come first. Every call is answered before the next message, and results answer
    the calls right before them. Types are AutoGen's own; sources and arguments are legal.

    Args:
        messages: The prompt.
        open_calls: Whether calls may be without results, as a cancelled run leaves them.

    Raises:
        PromptError: Rules are broken; the message names each of them and the place.
    """
    errors = [*_message_errors(messages), *_call_errors(messages, open_calls=open_calls)]
    if errors:
        raise PromptError("; ".join(errors))


def _message_errors(messages: Sequence[LLMMessage]) -> Iterator[str]:
    """Yield the errors of single messages: in their types and sources, and system messages after others."""
    system_messages_end = False
    for index, message in enumerate(messages):
        if type(message) not in _EXACT:
            yield f"message {index} has the type {type(message).__name__}"
        if not isinstance(message, SystemMessage):
            system_messages_end = True
        elif system_messages_end:
            yield f"message {index} is a system message after others"
        source = message.source if isinstance(message, UserMessage | AssistantMessage) else None
        if source is not None and not _SOURCE.fullmatch(source):
            yield f"message {index} has the illegal source {source!r}"


def _call_errors(messages: Sequence[LLMMessage], *, open_calls: bool) -> Iterator[str]:
    """Yield the errors between calls and results."""
    unanswered: list[str] = []
    for index, message in enumerate(messages):
        if isinstance(message, FunctionExecutionResultMessage):
            for result in message.content:
                if result.call_id in unanswered:
                    unanswered.remove(result.call_id)
                else:
                    yield f"message {index} answers {result.call_id!r}, which no call before it has"
            continue
        if unanswered and not open_calls:
            yield f"message {index} comes before the results of {unanswered}"
        unanswered = []
        if isinstance(message, AssistantMessage) and isinstance(message.content, list):
            for call in message.content:
                unanswered.append(call.id)
                if not _is_json_object(call.arguments):
                    where = f"message {index} calls {call.name}"
                    yield f"{where} with arguments that are not a JSON object"
    if unanswered and not open_calls:
        yield f"no results of {unanswered}"


def _is_json_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False
