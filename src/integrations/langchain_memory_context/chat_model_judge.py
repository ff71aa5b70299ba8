"""`ChatModelJudge`: ask a LangChain chat model, with one small call per message, which memories the next step needs."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import Runnable, RunnableConfig

from langchain_memory_context.messages import plain_texts
from memory_context import sentences_models_read as prompts
from memory_context.conversation.recall.model_judge import JudgeAnswer, ModelJudge
from memory_context.exceptions import InvalidArgumentError
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
            model = _named_model(model)
        if not isinstance(model, BaseChatModel):
            raise InvalidArgumentError(
                f"a judge takes a BaseChatModel of LangChain, not {type(model).__name__}"
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
        return await self._asked(_structured(model), prompts.JUDGE_SYSTEM, prompt)

    async def complete(self, system: str, prompt: str) -> tuple[str, int]:
        """Return the model's answer to any question, and the tokens of the call; see `LightModel`."""
        return await self._asked(self.model, system, prompt)

    async def _asked(self, model: Runnable[Any, Any], system: str, prompt: str) -> tuple[str, int]:
        messages: list[BaseMessage] = [SystemMessage(system), HumanMessage(prompt)]
        given = await model.ainvoke(messages, _quiet())
        answer, parsed = _parts_of(given)
        text = parsed or "".join(plain_texts(answer))
        return text, _tokens(messages, answer)


def _named_model(name: str) -> BaseChatModel:
    # Imported here, since chains need only langchain-core.
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
    """Return the model's message, and its answer as JSON if LangChain could parse it."""
    match given:
        case {"raw": raw, "parsed": JudgeAnswer() as parsed}:
            return raw, parsed.model_dump_json()
        case {"raw": raw}:
            return raw, None
        case _:
            return given, None


def _tokens(messages: list[BaseMessage], answer: BaseMessage) -> int:
    """Return the tokens of the call. If the model does not report them, they are counted locally."""
    usage = cast("dict[str, int]", getattr(answer, "usage_metadata", None) or {})
    reported = usage.get("total_tokens")
    if reported:
        return reported
    texts = chain.from_iterable(map(plain_texts, [*messages, answer]))
    return sum(map(default_counter().count, texts))
