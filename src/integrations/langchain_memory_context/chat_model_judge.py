"""A judge that asks a LangChain chat model: one small call, for one message."""

from __future__ import annotations

from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import Runnable, RunnableConfig

from langchain_memory_context.messages import plain_texts
from memory_context.conversation.keyword_judge import Question, Verdict
from memory_context.conversation.model_judge import (
    StrictAnswer,
    judge_prompt,
    tokens_in,
    verdict_of,
)
from memory_context.exceptions import InvalidArgumentError
from memory_context.runtime import tool_descriptions_and_prompts as prompts

try:
    from langchain.agents.middleware.internal_call_transformer import internal_call_metadata
except ModuleNotFoundError:  # a LangChain that has no third stream

    def internal_call_metadata() -> dict[str, Any]:
        """Nothing to mark."""
        return {}


class ChatModelJudge:
    """Asks a chat model what the next step needs; its tokens never reach the user's streams.

    The prompt is bounded, as that of AutoGen's `LLMJudge`. The answer is asked for as structured output where the model
    can bind a schema, as text else.

    Args:
        model: A lightweight model.

    Raises:
        InvalidArgumentError: It is not a chat model.
    """

    def __init__(self, model: BaseChatModel) -> None:
        if not isinstance(model, BaseChatModel):
            message = f"a judge asks a BaseChatModel of LangChain, not {type(model).__name__}"
            raise InvalidArgumentError(message)
        self.model = model
        self.name = f"model:{type(model).__name__}"

    async def decide(self, question: Question) -> Verdict:
        """Return the model's verdict.

        Raises:
            JudgeError: The model's answer is not a verdict.
        """
        messages: list[BaseMessage] = [
            SystemMessage(prompts.JUDGE_SYSTEM),
            HumanMessage(judge_prompt(question)),
        ]
        config = RunnableConfig(
            tags=["nostream"], metadata=internal_call_metadata(), run_name="memory_context_judge"
        )
        given = await self._asked().ainvoke(messages, config)
        answer, parsed = _parts_of(given)
        text = parsed or "".join(plain_texts(answer))
        usage = cast("dict[str, int]", getattr(answer, "usage_metadata", None) or {})
        tokens = usage.get("total_tokens")
        if not tokens:
            asked = (*messages, answer)
            tokens = tokens_in(text for message in asked for text in plain_texts(message))
        return verdict_of(text, question, tokens)

    def _asked(self) -> Runnable[Any, Any]:
        try:
            return cast(
                "Runnable[Any, Any]",
                self.model.with_structured_output(StrictAnswer, include_raw=True),  # pyright: ignore[reportUnknownMemberType] # dict[Unknown]
            )
        except (NotImplementedError, ImportError, TypeError, ValueError):
            return cast("Runnable[Any, Any]", self.model)


def _parts_of(given: Any) -> tuple[BaseMessage, str | None]:  # noqa: ANN401 - with a schema a dict, without one a message
    """Return the model's message, and its answer as JSON if LangChain has read it."""
    if not isinstance(given, dict):
        return given, None
    parts = cast("dict[str, Any]", given)
    parsed = parts.get("parsed")
    return parts["raw"], parsed.model_dump_json() if isinstance(parsed, StrictAnswer) else None
