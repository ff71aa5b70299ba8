"""A chat client of AutoGen that follows a script."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any, Self, TypeAlias

from autogen_core import Component, FunctionCall
from autogen_core.models import (
    ChatCompletionClient,
    CreateResult,
    LLMMessage,
    ModelFamily,
    ModelInfo,
    RequestUsage,
)
from pydantic import BaseModel

from memory_context.exceptions import NotSerializableError
from memory_context.testing.autogen_prompt_rules import check_prompt
from memory_context.testing.scripted_turns import next_reply
from memory_context.text.tokens.counter import default_counter

Reply: TypeAlias = str | list[FunctionCall]
Step: TypeAlias = Reply | Callable[[Sequence[LLMMessage]], Reply]


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
        reply: Reply = next_reply(self.script, self.prompts, messages)
        usage = RequestUsage(prompt_tokens=self.count_tokens(messages), completion_tokens=0)
        self._usage.prompt_tokens += usage.prompt_tokens
        return CreateResult(
            finish_reason="stop" if isinstance(reply, str) else "function_calls",
            content=reply,
            usage=usage,
            cached=False,
        )

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
