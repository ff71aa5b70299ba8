"""A chat model that answers from a script, for tests of LangChain agents."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any, TypeAlias, cast

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolCall
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from pydantic import Field, PrivateAttr

from langchain_memory_context.messages import plain_texts
from memory_context.testing.scripted_turns import next_reply

Step: TypeAlias = (
    str | AIMessage | Sequence[ToolCall] | Exception | Callable[[list[BaseMessage]], "Step"]
)

_NUMBERS = count(1)


def call(name: str, call_id: str = "", **arguments: Any) -> ToolCall:  # noqa: ANN401 - any argument
    """Return a call of the tool *name*; without a *call_id*, with an id that no other call has."""
    return ToolCall(
        name=name, args=arguments, id=call_id or f"call_{next(_NUMBERS)}", type="tool_call"
    )


class ScriptedChatModel(BaseChatModel):
    """Answers with the steps of a script, one per call, and records every prompt.

    A step is a text, a message, a list of tool calls, an error to raise, or a callable that returns one of these for
    the prompt.

    Attributes:
        script: The answers.
        prompts: The prompts so far, as lists of messages.
    """

    script: list[Any] = Field(default_factory=list[Any])
    prompts: list[list[BaseMessage]] = Field(default_factory=list[list[BaseMessage]])
    # As many as steps were taken, however many of `prompts` a test has dropped.
    _asked: list[Any] = PrivateAttr(default_factory=list[Any])

    def __init__(self, script: Sequence[Step] = (), **fields: Any) -> None:  # noqa: ANN401 - those of BaseChatModel
        super().__init__(**fields)
        self.script = list(script)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **_: Any) -> Runnable[LanguageModelInput, AIMessage]:  # noqa: ANN401, ARG002 - any tools
        """Return the model itself, since the script decides on tool calls."""
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:  # noqa: ANN401 - LangChain's options
        return ChatResult(generations=[ChatGeneration(message=self._next(messages))])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **_: Any,  # noqa: ANN401 - LangChain's signature
    ) -> Iterator[ChatGenerationChunk]:
        del stop
        message = self._next(messages)
        for word in re.findall(r"[^ ]* ?", "".join(plain_texts(message)))[:-1]:
            chunk = ChatGenerationChunk(message=AIMessageChunk(content=word))
            if run_manager:
                run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            yield chunk
        yield ChatGenerationChunk(message=AIMessageChunk(content="", tool_calls=message.tool_calls))

    def _next(self, messages: list[BaseMessage]) -> AIMessage:
        self.prompts.append(list(messages))
        step = next_reply(self.script, self._asked, messages)
        while callable(step):
            step = step(messages)
        if isinstance(step, Exception):
            raise step
        if isinstance(step, AIMessage):
            return step.model_copy()
        if isinstance(step, str):
            return AIMessage(step)
        return AIMessage("", tool_calls=list(cast("Sequence[ToolCall]", step)))
