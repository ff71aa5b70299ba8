"""AutoGen's own OpenAI client, against a server that refuses what the provider refuses."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_ext.models.openai import OpenAIChatCompletionClient
from pydantic import BaseModel

from memory_context import AgentMemoryService, MemoryContext
from memory_context.autogen import file_tools
from messages import LOG

MODEL = "gpt-4o-2024-08-06"


class Answer(BaseModel):
    """What the agent is to answer."""

    text: str


class Provider(ThreadingHTTPServer):
    """A server that answers by a script, and notes what it was asked."""

    def __init__(self, script: list[dict[str, Any]]) -> None:
        super().__init__(("127.0.0.1", 0), Completions)
        self.script = script
        self.asked = list[dict[str, Any]]()


class Completions(BaseHTTPRequestHandler):
    """Chat completions."""

    server: Provider

    def do_POST(self) -> None:
        """Answer with the next message of the script; with 400 for a tool that is not strict."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(asked)
        problem = next(filter(None, map(not_strict, asked.get("tools", []))), None)
        answer: dict[str, Any] = {"error": {"message": problem}}
        if problem is None:
            message = {"role": "assistant", "content": None} | self.server.script.pop(0)
            reason = "tool_calls" if message.get("tool_calls") else "stop"
            choice = {"index": 0, "message": message, "finish_reason": reason}
            answer = {"id": "1", "object": "chat.completion", "created": 1, "model": MODEL}
            answer["choices"] = [choice]
        data = json.dumps(answer).encode()
        self.send_response(200 if problem is None else 400)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        """Print nothing."""


def not_strict(tool: dict[str, Any]) -> str | None:
    """Why OpenAI refuses a tool as strict: https://platform.openai.com/docs/guides/structured-outputs."""
    function = tool["function"]
    parameters = function["parameters"]
    if not function.get("strict"):
        return f"{function['name']} is not strict"
    if parameters.get("additionalProperties") is not False:
        return f"{function['name']}: additionalProperties is required to be false"
    if set(parameters["required"]) != set(parameters["properties"]):
        return f"{function['name']}: required is required to include every key"
    for name, argument in parameters["properties"].items():
        if "default" in argument or argument.get("type") == "object" or "type" not in argument:
            return f"{function['name']}: {name} is not permitted"
    return None


@pytest.fixture
def provider() -> Iterator[Provider]:
    """A server that runs."""
    server = Provider([])
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


# AutoGen logs the answer as a type that knows nothing of the schema.
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
@pytest.mark.parametrize("through", ["tools", "workbench"])
async def test_an_answer_by_a_schema(provider: Provider, tmp_path: Any, through: str) -> None:
    """An agent with `output_content_type` has the memory tools, notes and files beside tools of its own."""
    call = {"id": "c1", "type": "function"}
    arguments = {"key": "log", "lines": "1-2", "contains": "", "pattern": "", "path": ""}
    arguments |= {"where": "", "columns": "", "query": ""}
    provider.script = [
        {
            "tool_calls": [
                call
                | {
                    "function": {
                        "name": "retrieve_memory",
                        "arguments": json.dumps(arguments | {"offset": 0}),
                    }
                }
            ]
        },
        {"content": '{"text": "done"}'},
    ]
    context = MemoryContext("ann", store="sqlite://", notes=True)
    await context.store(LOG, key="log")
    files = file_tools(AgentMemoryService(tmp_path), "agent")
    tools = [*context.tools(), *files]
    client = OpenAIChatCompletionClient(
        model=MODEL, api_key="none", base_url=f"http://127.0.0.1:{provider.server_port}/v1"
    )
    given: dict[str, Any] = {"tools": tools}
    if through == "workbench":
        given = {"workbench": context.workbench(files)}
    agent = AssistantAgent(
        "desk", model_client=client, model_context=context, output_content_type=Answer, **given
    )

    result = await agent.run(task="hello")

    assert Answer(text="done") == getattr(result.messages[-1], "content", None)
    assert LOG.splitlines()[0] in json.dumps(provider.asked[-1]["messages"])
    await client.close()
