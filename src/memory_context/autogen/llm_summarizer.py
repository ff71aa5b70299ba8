"""`LLMSummarizer`: ask a lightweight model for the one-line description of each folded text."""

from __future__ import annotations

from typing import Self

from autogen_core import Component, ComponentBase, ComponentModel
from autogen_core.models import ChatCompletionClient
from pydantic import BaseModel

from memory_context import sentences_models_read as prompts
from memory_context.autogen.chat_client_judge import LLMJudge
from memory_context.runtime.threads import result_of


class LLMSummarizerConfig(BaseModel):
    """The serialized form of an `LLMSummarizer`."""

    model_client: ComponentModel


class LLMSummarizer(ComponentBase[LLMSummarizerConfig], Component[LLMSummarizerConfig]):
    """Asks a model, through AutoGen's `ChatCompletionClient`, for a one-line description of a text.

    The model is called on the event loop that waits for the fold. If there is none, as with a `MemoryManager` that is
    used synchronously, it is called on a new loop.

    Args:
        model_client: A lightweight model.

    Attributes:
        tokens: The tokens of all calls so far.

    Raises:
        InvalidArgumentError: *model_client* is not a `ChatCompletionClient`.
    """

    component_type = "summarizer"
    component_config_schema = LLMSummarizerConfig
    component_provider_override = "memory_context.autogen.LLMSummarizer"

    def __init__(self, model_client: ChatCompletionClient) -> None:
        self.tokens = 0
        self._model = LLMJudge(model_client)

    def summarize(self, text: str, description: str) -> str:
        """Return the first line of the model's answer.

        Must not be called in the thread of a running event loop.
        """
        question = prompts.SUMMARY_QUESTION.format(description=description, text=text)
        answer, tokens = result_of(self._model.complete(prompts.SUMMARY_SYSTEM, question))
        self.tokens += tokens
        return answer.strip().partition("\n")[0]

    def _to_config(self) -> LLMSummarizerConfig:
        return LLMSummarizerConfig(model_client=self._model.model_client.dump_component())

    @classmethod
    def _from_config(cls, config: LLMSummarizerConfig) -> Self:
        return cls(ChatCompletionClient.load_component(config.model_client))
