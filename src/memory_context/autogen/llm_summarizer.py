"""`LLMSummarizer`: ask a lightweight model for the one-line description of each folded text."""

from __future__ import annotations

import asyncio
from typing import Self

from autogen_core import Component, ComponentBase, ComponentModel
from autogen_core.models import ChatCompletionClient
from pydantic import BaseModel

from memory_context import sentences_models_read as prompts
from memory_context.autogen.chat_client_judge import asked, check_client
from memory_context.runtime.threads import result_of


class LLMSummarizerConfig(BaseModel):
    """The serialized form of an `LLMSummarizer`."""

    model_client: ComponentModel
    seconds: float = 5.0


class LLMSummarizer(ComponentBase[LLMSummarizerConfig], Component[LLMSummarizerConfig]):
    """Asks a model, through AutoGen's `ChatCompletionClient`, for a one-line description of a text.

    The model is called on the event loop that waits for the fold. If there is none, as with a `MemoryManager` that is
    used synchronously, it is called on a new loop.

    Args:
        model_client: A lightweight model.
        seconds: The time after which a call is cancelled.

    Attributes:
        tokens: The tokens of all calls so far, as reported by the client.

    Raises:
        InvalidArgumentError: *model_client* is not a `ChatCompletionClient`.
    """

    component_type = "summarizer"
    component_config_schema = LLMSummarizerConfig
    component_provider_override = "memory_context.autogen.LLMSummarizer"

    def __init__(self, model_client: ChatCompletionClient, seconds: float = 5.0) -> None:
        check_client(model_client)
        self.model_client = model_client
        self.seconds = seconds
        self.tokens = 0

    def summarize(self, text: str, description: str) -> str | None:
        """Return the model's line; None if its answer is not a text.

        Must not be called in the thread of a running event loop.
        """
        return result_of(self._asked(text, description))

    async def _asked(self, text: str, description: str) -> str | None:
        question = prompts.SUMMARY_QUESTION.format(description=description, text=text)
        call = asked(self.model_client, prompts.SUMMARY_SYSTEM, question)
        result = await asyncio.wait_for(call, self.seconds)
        self.tokens += result.usage.prompt_tokens + result.usage.completion_tokens
        if not isinstance(result.content, str):
            return None
        return result.content.strip().partition("\n")[0]

    def _to_config(self) -> LLMSummarizerConfig:
        return LLMSummarizerConfig(
            model_client=self.model_client.dump_component(), seconds=self.seconds
        )

    @classmethod
    def _from_config(cls, config: LLMSummarizerConfig) -> Self:
        return cls(ChatCompletionClient.load_component(config.model_client), config.seconds)
