"""A judge that asks a model: one small call, for one message."""

from __future__ import annotations

from typing import Self

from autogen_core import Component, ComponentBase, ComponentModel
from autogen_core.models import (
    ChatCompletionClient,
    LLMMessage,
    SystemMessage,
    UserMessage,
)
from pydantic import BaseModel

from memory_context.conversation.keyword_judge import Question, Verdict
from memory_context.conversation.model_judge import (
    StrictAnswer,
    judge_prompt,
    tokens_in,
    verdict_of,
)
from memory_context.exceptions import InvalidArgumentError
from memory_context.runtime import tool_descriptions_and_prompts as prompts


def check_client(model_client: object) -> None:
    """Check that a judge or a summarizer has got a client that it can ask.

    Raises:
        InvalidArgumentError: It is not a `ChatCompletionClient`.
    """
    if not isinstance(model_client, ChatCompletionClient):
        message = f"model_client= takes a ChatCompletionClient of AutoGen, not {type(model_client).__name__}"
        raise InvalidArgumentError(message)


class LLMJudgeConfig(BaseModel):
    """A dumped judge."""

    model_client: ComponentModel


class LLMJudge(ComponentBase[LLMJudgeConfig], Component[LLMJudgeConfig]):
    """Asks a model through AutoGen's `ChatCompletionClient` what the next step needs.

    The prompt is bounded: the message and the task (4,000 characters of each at most), one line for each of at most 30
    references. The answer is asked for as structured output, as JSON or as text, by what `model_info` says that the
    model can.

    Args:
        model_client: A lightweight model.

    Raises:
        InvalidArgumentError: It is not a `ChatCompletionClient`.
    """

    component_type = "judge"
    component_config_schema = LLMJudgeConfig
    component_provider_override = "memory_context.autogen.LLMJudge"

    def __init__(self, model_client: ChatCompletionClient) -> None:
        check_client(model_client)
        self.model_client = model_client
        self.name = f"model:{type(model_client).__name__}"

    async def decide(self, question: Question) -> Verdict:
        """Return the model's verdict.

        Raises:
            JudgeError: The model's answer is not a verdict.
        """
        messages: list[LLMMessage] = [
            SystemMessage(content=prompts.JUDGE_SYSTEM),
            UserMessage(content=judge_prompt(question), source="user"),
        ]
        info = self.model_client.model_info
        output: bool | type[BaseModel] | None = info.get("json_output") or None
        if info.get("structured_output"):
            output = StrictAnswer
        result = await self.model_client.create(messages, json_output=output)
        tokens = result.usage.prompt_tokens + result.usage.completion_tokens
        if not tokens:
            tokens = tokens_in(str(message.content) for message in (*messages, result))
        return verdict_of(result.content, question, tokens)

    def _to_config(self) -> LLMJudgeConfig:
        return LLMJudgeConfig(model_client=self.model_client.dump_component())

    @classmethod
    def _from_config(cls, config: LLMJudgeConfig) -> Self:
        return cls(ChatCompletionClient.load_component(config.model_client))
