"""The conversation itself."""

from __future__ import annotations

from pathlib import Path

from autogen_agentchat.agents import AssistantAgent
from autogen_core.models import ChatCompletionClient
from rich.console import Console

from memory_context.autogen import MemoryContext
from memory_context.demo.meter import MeteredClient, ShadowedContext
from memory_context.demo.models import real_client
from memory_context.demo.project import write_project
from memory_context.demo.script import scripted_client
from memory_context.demo.show import Screen, show_balance
from memory_context.demo.tools import demo_tools
from memory_context.runtime import prompts
from memory_context.stores import MemoryStore

MAX_ITERATIONS = 10


def client_for(model: str | None, base_url: str | None) -> ChatCompletionClient:
    """A client for the model of this name, or the script without one. Raises what `real_client` raises."""
    return real_client(model, base_url) if model else scripted_client()


async def converse(
    client: ChatCompletionClient, store: MemoryStore, user_id: str, project: Path, console: Console
) -> None:
    """Let an agent look around, show what it does, and what it cost.

    Raises:
        MemoryContextError: The model gave no answer.
    """
    write_project(project)
    context = MemoryContext(user_id, store=store, agent_id="demo")
    screen = Screen(console, context)
    shadowed = ShadowedContext(context)
    metered = MeteredClient(client, shadowed, screen, prompts.DEMO_TASK)
    agent = AssistantAgent(
        "demo",
        metered,
        model_context=shadowed,
        tools=[*demo_tools(project), *context.tools()],
        system_message=f"{prompts.DEMO_TASK}\n\n{prompts.READING_INSTRUCTIONS}",
        max_tool_iterations=MAX_ITERATIONS,
    )
    for question in (prompts.DEMO_FIRST, prompts.DEMO_SECOND):
        screen.asked(question)
        async for _ in agent.run_stream(task=question):
            pass  # the screen shows what the model sees and says
    await metered.close()
    show_balance(console, screen.calls, context.stats())
