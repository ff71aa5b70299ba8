"""AutoGen's own OpenAI client, against a server that refuses what the provider refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_ext.models.openai import OpenAIChatCompletionClient
from pydantic import BaseModel

from for_each import first_quick
from memory_context import AgentMemoryService, MemoryContext
from memory_context.autogen import file_tools
from memory_context.testing import ScriptedProvider, calling
from messages import LOG

MODEL = "gpt-4o-2024-08-06"


class Answer(BaseModel):
    """What the agent is to answer."""

    text: str


# AutoGen logs the answer as a type that knows nothing of the schema.
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
@pytest.mark.parametrize("through", first_quick(["tools", "workbench"]))
async def test_an_answer_by_a_schema(tmp_path: Any, through: str) -> None:
    """An agent with `output_content_type` has the memory tools, notes and files beside tools of its own."""
    arguments = {"key": "log", "lines": "1-2", "contains": "", "pattern": "", "path": ""}
    arguments |= {"where": "", "columns": "", "query": ""}
    script = [
        calling("retrieve_memory", "c1", **arguments, offset=0),
        {"content": '{"text": "done"}'},
    ]
    context = MemoryContext("ann", store="sqlite://", notes=True)
    await context.store(LOG, key="log")
    files = file_tools(AgentMemoryService(tmp_path), "agent")
    tools = [*context.tools(), *files]
    given: dict[str, Any] = {"tools": tools}
    if through == "workbench":
        given = {"workbench": context.workbench(files)}
    with ScriptedProvider(script, is_strict=True) as provider:
        client = OpenAIChatCompletionClient(model=MODEL, api_key="none", base_url=provider.url)
        agent = AssistantAgent(
            "desk", model_client=client, model_context=context, output_content_type=Answer, **given
        )

        result = await agent.run(task="hello")
        await client.close()

    assert Answer(text="done") == getattr(result.messages[-1], "content", None)
    assert LOG.splitlines()[0] in json.dumps(provider.asked[-1]["messages"])
