"""The demo's agent on LangChain."""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from langchain.agents import create_agent  # pyright: ignore[reportUnknownVariableType] # its types
from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, ToolCall
from langchain_core.tools import StructuredTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver

from langchain_memory_context import MemoryContextMiddleware
from langchain_memory_context.messages import neutral_of
from langchain_memory_context.testing import ScriptedChatModel
from langchain_memory_context.testing import call as call_of
from memory_context import sentences_models_read as prompts
from memory_context.conversation.context_stats import ContextStats
from memory_context.conversation.fold_recall_notes_policies import FoldPolicy
from memory_context.conversation.message import FunctionCall, Message
from memory_context.demo.agent import Setting
from memory_context.demo.printed_conversation_and_tokens import Meter
from memory_context.demo.scripted_model import script

AnyRequest = ModelRequest[Any]
AnyResponse = ModelResponse[Any]


class Metering(AgentMiddleware[Any, Any, Any]):
    """Passes each prompt and each answer of the model to the meter."""

    def __init__(self, memory: MemoryContextMiddleware, meter: Meter) -> None:
        super().__init__()
        self._memory = memory
        self._meter = meter

    async def awrap_model_call(
        self, request: AnyRequest, handler: Callable[[AnyRequest], Awaitable[AnyResponse]]
    ) -> AnyResponse:
        """Call the model."""
        tools = map(convert_to_openai_tool, request.tools)
        schemas = {tool["function"]["name"]: json.dumps(tool) for tool in tools}
        self._meter.prompt(_neutral(request.messages), schemas, self._memory.decisions())
        response = await handler(request)
        for message in response.result:
            self._meter.answer(neutral_of(message))
        return response


class LangChainDemo:
    """An agent of `create_agent` with a `MemoryContextMiddleware`."""

    def __init__(self, setting: Setting, meter: Meter) -> None:
        tools = [
            StructuredTool.from_function(run, name=name, description=description)
            for name, (run, description) in setting.tools.described().items()
        ]
        self._memory = MemoryContextMiddleware(
            setting.store, user_id=setting.user_id, fold=FoldPolicy(queries=True)
        )
        model: BaseChatModel = ScriptedChatModel(script(_neutral, _calls))
        if setting.model:
            model = _real_model(setting)
        self._agent: Any = create_agent(
            model,
            tools,
            system_prompt=prompts.DEMO_TASK,
            # The last middleware in the list sees the final prompt.
            middleware=[self._memory, Metering(self._memory, meter)],
            checkpointer=InMemorySaver(),
        )

    async def ask(self, question: str) -> None:
        """Let the agent answer a question."""
        thread = {"configurable": {"thread_id": "demo"}}
        await self._agent.ainvoke({"messages": [("user", question)]}, thread)

    async def close(self) -> ContextStats:
        """Close the agent, and return the figures of what it did."""
        return self._memory.stats()


def _neutral(messages: Sequence[BaseMessage]) -> list[Message]:
    return [neutral_of(message) for message in messages]


def _calls(call: FunctionCall) -> list[ToolCall]:
    return [call_of(call.name, call.id, **json.loads(call.arguments))]


def _real_model(setting: Setting) -> BaseChatModel:
    if not setting.base_url:
        return init_chat_model(setting.model)
    return init_chat_model(
        setting.model,
        model_provider="openai",
        base_url=setting.base_url,
        # A user's own server often needs no key, but the client requires one.
        api_key=os.environ.get("OPENAI_API_KEY") or "none",
    )
