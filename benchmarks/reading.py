"""What it takes to read a whole document: a scripted reader follows our hints, beside an agent without folding.

    python benchmarks/reading.py

The reader gets a document of 9,000 tokens from a tool, calls `retrieve_memory` for as long as an answer ends with the
call for its next page, and then sums up. Tokens are those of every prompt together, with the tools' schemas and the
instructions; *task* counts the model's calls, *reading* those of `retrieve_memory`.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
from dataclasses import dataclass

from autogen_agentchat.agents import AssistantAgent
from autogen_core import FunctionCall
from autogen_core.model_context import UnboundedChatCompletionContext
from autogen_core.models import FunctionExecutionResultMessage, LLMMessage
from autogen_core.tools import FunctionTool
from rich.console import Console
from rich.table import Table

from memory_context import FoldPolicy, MemoryContext, MemoryRef, default_counter
from memory_context.testing import ScriptedChatClient

DOCUMENT_TOKENS = 9000
MOST_CALLS = 100
WORDS = [
    "storage",
    "tender",
    "pump",
    "valve",
    "report",
    "budget",
    "audit",
    "permit",
]
NEXT_OFFSET = re.compile(r"Next page: retrieve_memory\(.*offset=(\d+)\)")


@dataclass(frozen=True, slots=True)
class Reading:
    """What one run took.

    Attributes:
        task: How often the model was asked.
        reading: How often it called `retrieve_memory`.
        tokens: All prompts together, with schemas and instructions.
        is_complete: Whether every line of the document was shown.
    """

    task: int
    reading: int
    tokens: int
    is_complete: bool


def document() -> str:
    """Return numbered sentences, 9,000 tokens of them."""
    chance, count = random.Random(0), default_counter().count
    lines, tokens = list[str](), 0
    while tokens < DOCUMENT_TOKENS:
        words = " ".join(chance.choices(WORDS, k=14))
        lines.append(f"{len(lines) + 1}. {words}.")
        tokens += count(lines[-1]) + 1
    return "\n".join(lines)


def next_step(messages: list[LLMMessage]) -> str | list[FunctionCall]:
    """Return what a reader does who follows hints: the first page, each next page, then the summary."""
    text = ""
    if isinstance(messages[-1], FunctionExecutionResultMessage):
        text = messages[-1].content[0].content
    number = str(len(messages))
    if len(messages) <= 2:  # the system message, if there is one, and the question
        return [FunctionCall(id=number, name="read_report", arguments="{}")]
    if following := NEXT_OFFSET.search(text):
        key = MemoryRef.find_all(text)[0].key
        arguments = json.dumps({"key": key, "offset": int(following[1])})
        return [FunctionCall(id=number, name="retrieve_memory", arguments=arguments)]
    if len(messages) <= 4 and text.startswith("[MemoryRef: "):
        arguments = json.dumps({"key": MemoryRef.find_all(text)[0].key})
        return [FunctionCall(id=number, name="retrieve_memory", arguments=arguments)]
    return "It is about storage."


async def read(context: MemoryContext | None) -> Reading:
    """Let an agent read the document with a context of ours, or with AutoGen's own."""
    text = document()
    client = ScriptedChatClient([lambda messages: next_step(list(messages))] * MOST_CALLS)
    own = context.tools() if context else []
    report = FunctionTool(lambda: text, description="Read the report.", name="read_report")
    agent = AssistantAgent(
        "reader",
        client,
        tools=[report, *own],
        model_context=context or UnboundedChatCompletionContext(),
        system_message="",
        max_tool_iterations=MOST_CALLS,
    )
    await agent.run(task="Sum up the report.")
    count = default_counter().count
    schemas = json.dumps([tool.schema for tool in [report, *own]])
    shown = "\n".join(str(message.content) for message in client.prompts[-1])
    results = [
        result.name
        for message in client.prompts[-1]
        if isinstance(message, FunctionExecutionResultMessage)
        for result in message.content
    ]
    prompts = sum(client.count_tokens(prompt) + count(schemas) for prompt in client.prompts)
    lines = text.split("\n")
    is_complete = all(line in shown for line in lines)
    return Reading(len(client.prompts), results.count("retrieve_memory"), prompts, is_complete)


async def main() -> None:
    """Print calls and tokens of each way to read."""
    ways = {
        "no folding": None,
        "pages of 4,000 (the default)": MemoryContext("reader", store="sqlite://", recall=False),
        "pages of 500, as before": MemoryContext(
            "reader", store="sqlite://", recall=False, fold=FoldPolicy(page_tokens=500)
        ),
    }
    table = Table("", "task: model calls", "reading: calls", "tokens sent", "of no folding", "read")
    plain = 0
    for name, context in ways.items():
        done = await read(context)
        plain = plain or done.tokens
        table.add_row(
            name,
            str(done.task),
            str(done.reading),
            f"{done.tokens:,}",
            f"{done.tokens / plain:.2f}",
            "all" if done.is_complete else "not all",
        )
    Console().print(table)


if __name__ == "__main__":
    asyncio.run(main())
