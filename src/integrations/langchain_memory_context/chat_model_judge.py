"""`ChatModelJudge`: ask a LangChain chat model, with one small call per message, which memories the next step needs."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from itertools import chain
from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import Runnable, RunnableConfig

from langchain_memory_context.messages import plain_texts
from memory_context import sentences_models_read as prompts
from memory_context.conversation.recall.model_judge import JudgeAnswer, ModelJudge
from memory_context.exceptions import InvalidArgumentError
from memory_context.model.json_object import members_of
from memory_context.text.tokens.counter import default_counter

try:
    from langchain.agents.middleware.internal_call_transformer import internal_call_metadata
except ModuleNotFoundError:  # an older LangChain, in which internal calls need no mark

    def internal_call_metadata() -> dict[str, Any]:
        """Return no metadata."""
        return {}


class ChatModelJudge(ModelJudge):
    """Asks a chat model which memories the next step needs; its tokens never appear in the user's streams.

    When the model is asked, and with which prompt, is the same as for AutoGen's `LLMJudge`. The answer is requested as
    structured output if the model can bind a schema, otherwise as text.

    Args:
        model: A lightweight model, or its name as `create_agent` takes it: ``"openai:gpt-5-mini"``.

    Raises:
        InvalidArgumentError: *model* is not a chat model.
        ImportError: The provider's package is not installed.
        ValueError: There is no such provider.
    """

    def __init__(self, model: BaseChatModel | str) -> None:
        if isinstance(model, str):
            # Imported here, since chains need only langchain-core.
            from langchain.chat_models import init_chat_model  # noqa: PLC0415

            model = init_chat_model(model)
        if not isinstance(model, BaseChatModel):
            raise InvalidArgumentError(
                f"model must be a BaseChatModel of LangChain or its name, not {type(model).__name__}"
            )
        self.model = model
        self.name = f"model:{type(model).__name__}"

    async def ask(self, prompt: str, settings: Mapping[str, int]) -> tuple[Any, int]:
        """Return the model's answer, and the tokens of the call."""
        fields = type(self.model).model_fields
        supported = {name: value for name, value in settings.items() if name in fields}
        model = self.model
        if supported:
            model = model.model_copy(update=supported)
        structured: Runnable[Any, Any] = model
        with suppress(NotImplementedError, ImportError, TypeError, ValueError):
            structured = model.with_structured_output(JudgeAnswer, include_raw=True)  # pyright: ignore[reportUnknownMemberType] # dict[Unknown]
        return await self._asked(structured, prompts.JUDGE_SYSTEM, prompt)

    async def complete(self, system: str, prompt: str) -> tuple[str, int]:
        """Return the model's answer to any question, and the tokens of the call; see `LightModel`."""
        return await self._asked(self.model, system, prompt)

    async def _asked(self, model: Runnable[Any, Any], system: str, prompt: str) -> tuple[str, int]:
        messages: list[BaseMessage] = [SystemMessage(system), HumanMessage(prompt)]
        # Keeps the call out of the user's streams.
        quiet = RunnableConfig(
            tags=["nostream"], metadata=internal_call_metadata(), run_name="memory_context_judge"
        )
        given = await model.ainvoke(messages, quiet)
        # With a schema, LangChain returns the message and, if it could parse it, the answer.
        answer: BaseMessage = members_of(given).get("raw", given)
        parsed = members_of(given).get("parsed")
        text = "".join(plain_texts(answer))
        if isinstance(parsed, JudgeAnswer):
            text = parsed.model_dump_json()
        usage = cast("dict[str, int]", getattr(answer, "usage_metadata", None) or {})
        tokens = usage.get("total_tokens")
        # A model may not report its tokens.
        if not tokens:
            texts = chain.from_iterable(map(plain_texts, [*messages, answer]))
            tokens = sum(map(default_counter().count, texts))
        return text, tokens
