"""The demo's agent on AutoGen."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Sequence
from typing import Any

from autogen_agentchat.agents import AssistantAgent
from autogen_core import FunctionCall as AutoGenCall
from autogen_core.models import (
    AssistantMessage,
    ChatCompletionClient,
    LLMMessage,
    ModelFamily,
    ModelInfo,
)
from autogen_core.tools import FunctionTool, Tool

from memory_context import sentences_models_read as prompts
from memory_context.autogen import MemoryContext
from memory_context.autogen.messages import neutral_of
from memory_context.conversation.context_stats import ContextStats
from memory_context.conversation.fold_recall_notes_policies import FoldPolicy
from memory_context.conversation.message import FunctionCall, Message
from memory_context.demo.agent import MAX_ITERATIONS, Setting
from memory_context.demo.printed_conversation_and_tokens import Meter
from memory_context.demo.scripted_model import script
from memory_context.testing import ScriptedChatClient


class MeteredContext(MemoryContext):
    """A `MemoryContext` that passes each prompt and each answer of the model to the meter."""

    def __init__(self, setting: Setting, tools: Sequence[Tool], meter: Meter) -> None:
        super().__init__(
            setting.user_id, store=setting.store, agent_id="demo", fold=FoldPolicy(queries=True)
        )
        self._meter = meter
        self._schemas = {tool.name: json.dumps(tool.schema) for tool in (*tools, *super().tools())}

    async def add_message(self, message: LLMMessage) -> None:
        """Add *message*; if it is the model's, pass it to the meter."""
        await super().add_message(message)
        if isinstance(message, AssistantMessage):
            self._meter.answer(*neutral_of(message, ""))

    async def get_messages(self) -> list[LLMMessage]:
        """Return the prompt for the next call of the model, after passing it to the meter."""
        messages = await super().get_messages()
        self._meter.prompt(_neutral(messages), self._schemas, self.decisions())
        return messages


class AutoGenDemo:
    """An `AssistantAgent` on a `MeteredContext`."""

    def __init__(self, setting: Setting, meter: Meter) -> None:
        self._client: ChatCompletionClient = ScriptedChatClient(script(_neutral, _calls))
        if setting.model:
            self._client = _real_client(setting)
        tools = [
            FunctionTool(run, description, name=name)
            for name, (run, description) in setting.tools.described().items()
        ]
        self._context = MeteredContext(setting, tools, meter)
        self._agent = AssistantAgent(
            "demo",
            self._client,
            model_context=self._context,
            tools=[*tools, *self._context.tools()],
            system_message=prompts.DEMO_TASK,
            max_tool_iterations=MAX_ITERATIONS,
        )

    async def ask(self, question: str) -> None:
        """Let the agent answer a question."""
        await self._agent.run(task=question)

    async def close(self) -> ContextStats:
        """Close the agent, and return the figures of what it did."""
        await self._client.close()
        return self._context.stats()


def _calls(call: FunctionCall) -> list[AutoGenCall]:
    return [AutoGenCall(call.id, call.arguments, call.name)]


def _neutral(messages: Sequence[LLMMessage]) -> list[Message]:
    return [part for message in messages for part in neutral_of(message, "")]


def _real_client(setting: Setting) -> ChatCompletionClient:
    from autogen_ext.models.openai import OpenAIChatCompletionClient  # noqa: PLC0415 - an extra

    # Other servers name the model and the reason for stopping differently from OpenAI.
    warnings.filterwarnings("ignore", "(Resolved model|Finish reason) mismatch")
    settings: dict[str, Any] = {"model": setting.model}
    if setting.base_url:
        settings["base_url"] = setting.base_url
        # A user's own server often needs no key, but the client requires one. It also needs to be told the abilities of
        # models that it does not know.
        settings["api_key"] = os.environ.get("OPENAI_API_KEY") or "none"
        settings["model_info"] = ModelInfo(
            vision=False,
            function_calling=True,
            json_output=False,
            structured_output=False,
            family=ModelFamily.UNKNOWN,
        )
    return OpenAIChatCompletionClient(**settings)
