"""The demo's agent on Microsoft Agent Framework."""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, cast

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatResponse,
    Content,
    FunctionTool,
)
from agent_framework import Message as FrameworkMessage

from memory_context import sentences_models_read as prompts
from memory_context.agent_framework import MemoryContextProvider
from memory_context.agent_framework.messages import held_by
from memory_context.conversation.context_stats import ContextStats
from memory_context.conversation.fold_recall_notes_policies import FoldPolicy
from memory_context.conversation.message import FunctionCall, Message
from memory_context.demo.agent import Setting
from memory_context.demo.printed_conversation_and_tokens import Meter
from memory_context.demo.scripted_model import script
from memory_context.testing import ScriptedFrameworkClient


class FrameworkDemo:
    """An `Agent` with a `MemoryContextProvider`."""

    def __init__(self, setting: Setting, meter: Meter) -> None:
        tools = [
            FunctionTool(
                name=name, description=description, func=run, approval_mode="never_require"
            )
            for name, (run, description) in setting.tools.described().items()
        ]
        self._memory = MemoryContextProvider(
            setting.store, user_id=setting.user_id, fold=FoldPolicy(queries=True)
        )
        client: BaseChatClient[Any] = ScriptedFrameworkClient(script(_neutral, _calls))
        if setting.model:
            client = _real_client(setting)
        self._agent = Agent(
            _metered(client, self._memory, meter),
            prompts.DEMO_TASK,
            name="demo",
            tools=tools,
            context_providers=[self._memory],
        )
        self._session = self._agent.create_session()

    async def ask(self, question: str) -> None:
        """Let the agent answer a question."""
        await self._agent.run(question, session=self._session)

    async def close(self) -> ContextStats:
        """Close the agent, and return the figures of what it did."""
        return self._memory.stats()


def _calls(call: FunctionCall) -> list[Content]:
    return [Content.from_function_call(call.id, call.name, arguments=call.arguments)]


def _metered(
    client: BaseChatClient[Any], memory: MemoryContextProvider, meter: Meter
) -> BaseChatClient[Any]:
    """Make *client* pass each prompt and each answer to *meter*, and return it."""
    ask_model = client._inner_get_response  # noqa: SLF001 - see below

    async def get_metered_response(
        *,
        messages: Sequence[FrameworkMessage],
        options: Mapping[str, Any],
        **others: Any,  # noqa: ANN401 - the framework's
    ) -> ChatResponse[Any]:
        """Ask the model, and meter the prompt and the answer."""
        tools: Sequence[FunctionTool] = options.get("tools") or ()
        schemas = {tool.name: json.dumps(tool.to_json_schema_spec()) for tool in tools}
        meter.prompt(_neutral(messages), schemas, memory.decisions())
        asking = ask_model(messages=messages, options=options, **others)
        response = await cast("Awaitable[ChatResponse[Any]]", asking)
        for message in _neutral(response.messages):
            meter.answer(message)
        return response

    # The client's compaction strategy makes the prompt, and no public hook runs after it.
    client._inner_get_response = get_metered_response  # type: ignore[method-assign] # noqa: SLF001 # pyright: ignore[reportAttributeAccessIssue]
    return client


def _neutral(messages: Sequence[FrameworkMessage]) -> list[Message]:
    return [part for parts in held_by(messages) for part in parts]


def _real_client(setting: Setting) -> BaseChatClient[Any]:
    from agent_framework.openai import OpenAIChatCompletionClient  # noqa: PLC0415 - a package of its own

    # A user's own server often needs no key, but the client requires one.
    key = os.environ.get("OPENAI_API_KEY") or ("none" if setting.base_url else None)
    return OpenAIChatCompletionClient(setting.model, api_key=key, base_url=setting.base_url)
