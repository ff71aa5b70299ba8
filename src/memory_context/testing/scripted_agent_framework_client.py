"""A chat client of Microsoft Agent Framework that follows a script."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias

from agent_framework import (
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    ResponseStream,
)
from agent_framework import Message as FrameworkMessage

from memory_context.testing.scripted_turns import next_reply

FrameworkReply: TypeAlias = str | Sequence[Content]
FrameworkStep: TypeAlias = FrameworkReply | Callable[[Sequence[FrameworkMessage]], FrameworkReply]


class ScriptedFrameworkClient(
    FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], BaseChatClient[Any]
):
    """Answers with the steps of a script, one per call, and records every prompt; a stream yields content by content.

    A step is a text, contents such as ``Content.from_function_call(…)``, or a callable that takes the prompt and returns
    one of these.

    Args:
        script: The steps.
        service_session_id: The id under which a service would keep the history; None for a service that keeps none.

    Attributes:
        script: The steps.
        prompts: The prompts so far, as lists of messages.
        options: The options of each call, tools among them.

    Raises:
        RuntimeError: The script has no further step.
    """

    def __init__(
        self, script: Sequence[FrameworkStep] = (), *, service_session_id: str | None = None
    ) -> None:
        super().__init__()
        self.STORES_BY_DEFAULT = service_session_id is not None  # type: ignore[misc] # of each client here
        self._service_session_id = service_session_id
        self.script = list(script)
        self.prompts = list[list[FrameworkMessage]]()
        self.options = list[Mapping[str, Any]]()

    def _inner_get_response(
        self,
        *,
        messages: Sequence[FrameworkMessage],
        stream: bool,
        options: Mapping[str, Any],
        **_: Any,  # noqa: ANN401 - the framework's own, which a script ignores
    ) -> Awaitable[ChatResponse[Any]] | ResponseStream[ChatResponseUpdate, ChatResponse[Any]]:
        if stream:
            return self._build_response_stream(self._updates(messages, options))
        return self._response(messages, options)

    async def _response(
        self, messages: Sequence[FrameworkMessage], options: Mapping[str, Any]
    ) -> ChatResponse[Any]:
        answer = FrameworkMessage("assistant", self._next_contents(messages, options))
        return ChatResponse(messages=[answer], conversation_id=self._service_session_id)

    async def _updates(
        self, messages: Sequence[FrameworkMessage], options: Mapping[str, Any]
    ) -> AsyncIterator[ChatResponseUpdate]:
        for content in self._next_contents(messages, options):
            yield ChatResponseUpdate(
                contents=[content], role="assistant", conversation_id=self._service_session_id
            )

    def _next_contents(
        self, messages: Sequence[FrameworkMessage], options: Mapping[str, Any]
    ) -> list[Content]:
        self.options.append(options)
        reply: FrameworkReply = next_reply(self.script, self.prompts, messages)
        return [Content.from_text(reply)] if isinstance(reply, str) else list(reply)
