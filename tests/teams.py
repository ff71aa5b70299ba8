"""Agents, contexts and scripted models of the tests with real teams."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

from autogen_agentchat.agents import (
    AssistantAgent,
)
from autogen_agentchat.base import TaskResult
from autogen_agentchat.teams import (
    BaseGroupChat,
)
from autogen_core import CancellationToken, Component, FunctionCall
from autogen_core.model_context import ChatCompletionContext
from autogen_core.models import (
    CreateResult,
    LLMMessage,
    ModelFamily,
    ModelInfo,
    RequestUsage,
)
from autogen_core.tools import BaseTool
from autogen_ext.models.replay import ReplayChatCompletionClient
from pydantic import BaseModel

from memory_context import MemoryContext, MemoryRef
from memory_context.testing import ScriptedChatClient
from messages import LOG, dumps


def run_job(job: str) -> str:
    """Run a job and return its log."""
    return "\n".join(f"{job}: worker-{i} handled item {i * 7919 % 10007}" for i in range(300))


class Job(BaseModel):
    """The arguments of `run_job`."""

    job: str


class Nothing(BaseModel):
    """The configuration of a tool that needs none."""


class RunJob(BaseTool[Job, Any], Component[Nothing]):
    """`run_job` as a component: AutoGen cannot dump a loaded FunctionTool again."""

    component_config_schema = Nothing

    def __init__(self) -> None:
        super().__init__(Job, str, "run_job", "Run a job.")

    async def run(self, args: Job, cancellation_token: CancellationToken) -> str:  # noqa: ARG002 - AutoGen's signature
        """Run a job and return its log."""
        return run_job(args.job)

    def _to_config(self) -> Nothing:
        return Nothing()

    @classmethod
    def _from_config(cls, config: Nothing) -> Self:  # noqa: ARG003 - AutoGen's signature
        return cls()


JOB = run_job("a")
RUN = RunJob()
RUN_JOB = [FunctionCall(id="c1", name="run_job", arguments='{"job": "a"}')]
READS = "I have read it."
QUESTION = "What became of worker-123?"
ANSWER = LOG.split("\n")[123]


def contexts(url: str, *names: str) -> dict[str, MemoryContext]:
    """A context for each name, on one store."""
    return {name: MemoryContext("ann", store=url, agent_id=name) for name in names}


def runner(context: MemoryContext, name: str = "runner", **settings: Any) -> AssistantAgent:
    """An agent that runs a job and passes its whole output on, as AutoGen's defaults do."""
    client = settings.pop("model_client", ScriptedChatClient([RUN_JOB, "done"]))
    return AssistantAgent(name, model_client=client, tools=[RUN], model_context=context, **settings)


def reader(
    context: MemoryContext, name: str = "reader", script: Sequence[Any] = (READS,) * 3
) -> AssistantAgent:
    """An agent that answers what the script says."""
    return AssistantAgent(name, model_client=ScriptedChatClient(script), model_context=context)


def unchecked(*replies: str) -> ReplayChatCompletionClient:
    """A model that takes every prompt."""
    info = ModelInfo(
        vision=True,
        function_calling=True,
        json_output=True,
        structured_output=True,
        family=ModelFamily.UNKNOWN,
    )
    return ReplayChatCompletionClient(list(replies), model_info=info)


def keys(messages: Iterable[LLMMessage]) -> list[str]:
    """The keys of the references in the messages, in order."""
    return [
        ref.key for message in messages for ref in MemoryRef.find_all(message.model_dump_json())
    ]


async def keys_of(all_contexts: Mapping[str, MemoryContext]) -> dict[str, list[str]]:
    """The keys of the references in each context."""
    return {name: keys(await context.get_messages()) for name, context in all_contexts.items()}


async def stored(context: MemoryContext) -> list[str]:
    """The contents of all of the user's memories."""
    return sorted(item.text for item in await context.search("", 100))


async def messages_of(*of: ChatCompletionContext) -> list[list[str]]:
    """The messages of each context, as their bytes."""
    return [dumps(await context.get_messages()) for context in of]


async def state_of(team: BaseGroupChat) -> dict[str, Any]:
    """The team's state, as it comes back from a file."""
    loaded: dict[str, Any] = json.loads(json.dumps(await team.save_state()))
    return loaded


def reloaded(team: BaseGroupChat) -> BaseGroupChat:
    """The team, dumped into a file and loaded."""
    return BaseGroupChat.load_component(json.loads(team.dump_component().model_dump_json()))


def last_text(result: TaskResult) -> str:
    """What was said last."""
    return str(result.messages[-1].content)  # type: ignore[union-attr] # every message of these runs has a content


class Calls(ReplayChatCompletionClient):
    """A model that makes one call, whatever the prompt."""

    def __init__(self, call: FunctionCall) -> None:
        info = unchecked().model_info
        super().__init__([], model_info=info)
        usage = RequestUsage(prompt_tokens=0, completion_tokens=0)
        self.chat_completions = [
            CreateResult(finish_reason="function_calls", content=[call], usage=usage, cached=False)
        ]
