"""A judge that asks a LangChain chat model: one small call, for one message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import Runnable, RunnableConfig

from langchain_memory_context.messages import plain_texts
from memory_context import wording_for_models as prompts
from memory_context.conversation.recall.model_judge import JudgeAnswer, ModelJudge
from memory_context.exceptions import InvalidArgumentError
from memory_context.text.tokens.counter import default_counter

try:
    from langchain.agents.middleware.internal_call_transformer import internal_call_metadata
except ModuleNotFoundError:  # a LangChain that has no third stream

    def internal_call_metadata() -> dict[str, Any]:
        """Nothing to mark."""
        return {}


class ChatModelJudge(ModelJudge):
    """Asks a chat model what the next step needs; its tokens never reach the user's streams.

    When it is asked, and what, is as of AutoGen's `LLMJudge`. The answer is asked for as structured output where the model
    can bind a schema, as text else.

    Args:
        model: A lightweight model, or its name as `create_agent` takes it: ``"openai:gpt-5-mini"``.

    Raises:
        InvalidArgumentError: It is not a chat model.
        ImportError: The provider's package is not installed.
        ValueError: There is no such provider.
    """

    def __init__(self, model: BaseChatModel | str) -> None:
        self.model = _named_model(model) if isinstance(model, str) else model
        if not isinstance(self.model, BaseChatModel):
            raise InvalidArgumentError(
                f"a judge asks a BaseChatModel of LangChain, not {type(model).__name__}"
            )
        self.name = f"model:{type(self.model).__name__}"

    async def ask(self, prompt: str, settings: Mapping[str, int]) -> tuple[Any, int]:
        """Return what the model answers, and the tokens of the call."""
        taken = settings.keys() & type(self.model).model_fields.keys()
        model = self.model
        if taken:
            model = self.model.model_copy(update={name: settings[name] for name in taken})
        return await self._asked(_structured(model), prompts.JUDGE_SYSTEM, prompt)

    async def complete(self, system: str, prompt: str) -> tuple[str, int]:
        """Return what the model answers to any question, and the tokens of the call; see `LightModel`."""
        return await self._asked(self.model, system, prompt)

    async def _asked(self, model: Runnable[Any, Any], system: str, prompt: str) -> tuple[str, int]:
        messages: list[BaseMessage] = [SystemMessage(system), HumanMessage(prompt)]
        answer, parsed = _parts_of(await model.ainvoke(messages, _quiet()))
        return parsed or "".join(plain_texts(answer)), _tokens(messages, answer)


def _named_model(name: str) -> BaseChatModel:
    # Here, for chains need no more of LangChain than its core.
    from langchain.chat_models import init_chat_model  # noqa: PLC0415

    return init_chat_model(name)


def _quiet() -> RunnableConfig:
    """Return a configuration that keeps a call out of the user's streams."""
    return RunnableConfig(
        tags=["nostream"], metadata=internal_call_metadata(), run_name="memory_context_judge"
    )


def _structured(model: BaseChatModel) -> Runnable[Any, Any]:
    try:
        return cast(
            "Runnable[Any, Any]",
            model.with_structured_output(JudgeAnswer, include_raw=True),  # pyright: ignore[reportUnknownMemberType] # dict[Unknown]
        )
    except (NotImplementedError, ImportError, TypeError, ValueError):
        return cast("Runnable[Any, Any]", model)


def _parts_of(given: Any) -> tuple[BaseMessage, str | None]:  # noqa: ANN401 - with a schema a dict, without one a message
    """Return the model's message, and its answer as JSON if LangChain has read it."""
    match given:
        case {"raw": raw, "parsed": JudgeAnswer() as parsed}:
            return raw, parsed.model_dump_json()
        case {"raw": raw}:
            return raw, None
        case _:
            return given, None


def _tokens(messages: list[BaseMessage], answer: BaseMessage) -> int:
    """Return what the call cost, in tokens; counted here if the model does not say, and never by asking a provider."""
    usage = cast("dict[str, int]", getattr(answer, "usage_metadata", None) or {})
    count = default_counter().count
    texts = (text for message in (*messages, answer) for text in plain_texts(message))
    return usage.get("total_tokens") or sum(map(count, texts))
