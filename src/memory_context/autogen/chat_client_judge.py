"""`LLMJudge`: ask a lightweight model, with one small call per message, which memories the next step needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from autogen_core import Component, ComponentBase, ComponentModel
from autogen_core.models import (
    ChatCompletionClient,
    CreateResult,
    LLMMessage,
    SystemMessage,
    UserMessage,
)
from pydantic import BaseModel

from memory_context import sentences_models_read as prompts
from memory_context.conversation.recall.model_judge import JudgeAnswer, ModelJudge
from memory_context.exceptions import InvalidArgumentError
from memory_context.text.tokens.counter import default_counter


def check_client(model_client: object) -> None:
    """Check the client that a judge or a summarizer was given.

    Raises:
        InvalidArgumentError: *model_client* is not a `ChatCompletionClient`.
    """
    if not isinstance(model_client, ChatCompletionClient):
        raise InvalidArgumentError(
            f"model_client= takes a ChatCompletionClient of AutoGen, not {type(model_client).__name__}"
        )


async def asked(
    client: ChatCompletionClient,
    system: str,
    prompt: str,
    **options: Any,  # noqa: ANN401 - the client's
) -> CreateResult:
    """Return the answer of *client* to one prompt; *options* are those of its `create`."""
    messages: list[LLMMessage] = [
        SystemMessage(content=system),
        UserMessage(content=prompt, source="user"),
    ]
    return await client.create(messages, **options)


class LLMJudgeConfig(BaseModel):
    """The serialized form of an `LLMJudge`."""

    model_client: ComponentModel


class LLMJudge(ModelJudge, ComponentBase[LLMJudgeConfig], Component[LLMJudgeConfig]):
    """Asks a model, through AutoGen's `ChatCompletionClient`, which memories the next step needs.

    The model is asked only if keyword matching is unsure. The prompt is bounded: the message and the last turns (at most
    4,000 characters of each), one line for each of at most 30 references, and the best lines of ten. The answer is
    requested as structured output, as JSON or as text, depending on the model's `model_info`. If the client supports
    these settings, the temperature is 0, and the answer has at most 400 tokens.

    Args:
        model_client: A lightweight model.

    Raises:
        InvalidArgumentError: *model_client* is not a `ChatCompletionClient`.
    """

    component_type = "judge"
    component_config_schema = LLMJudgeConfig
    component_provider_override = "memory_context.autogen.LLMJudge"

    def __init__(self, model_client: ChatCompletionClient) -> None:
        check_client(model_client)
        self.model_client = model_client
        self.name = f"model:{type(model_client).__name__}"

    async def ask(self, prompt: str, settings: Mapping[str, int]) -> tuple[Any, int]:
        """Return the model's answer, and the tokens of the call."""
        info = self.model_client.model_info
        output: bool | type[BaseModel] | None = info.get("json_output") or None
        if info.get("structured_output"):
            output = JudgeAnswer
        return await self._answered(
            prompts.JUDGE_SYSTEM, prompt, json_output=output, extra_create_args=settings
        )

    async def complete(self, system: str, prompt: str) -> tuple[str, int]:
        """Return the model's answer to any question, and the tokens of the call; see `LightModel`."""
        content, tokens = await self._answered(system, prompt)
        return str(content), tokens

    async def _answered(self, system: str, prompt: str, **options: Any) -> tuple[Any, int]:  # noqa: ANN401 - the client's
        """Return the answer and the tokens of the call. If the client does not report the tokens, count them."""
        result = await asked(self.model_client, system, prompt, **options)
        tokens = result.usage.prompt_tokens + result.usage.completion_tokens
        if not tokens:
            tokens = sum(map(default_counter().count, (system, prompt, str(result.content))))
        return result.content, tokens

    def _to_config(self) -> LLMJudgeConfig:
        return LLMJudgeConfig(model_client=self.model_client.dump_component())

    @classmethod
    def _from_config(cls, config: LLMJudgeConfig) -> Self:
        return cls(ChatCompletionClient.load_component(config.model_client))
