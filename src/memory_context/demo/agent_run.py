"""The agent at work: three questions, and every prompt shown and counted on the way."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from autogen_agentchat.agents import AssistantAgent
from autogen_core.models import (
    AssistantMessage,
    ChatCompletionClient,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    UserMessage,
)
from autogen_core.tools import Tool
from rich.console import Console, ConsoleRenderable

from memory_context import display
from memory_context.autogen import ContextStats, MemoryContext
from memory_context.autogen.messages import calls_of, neutral_of
from memory_context.conversation.fold_and_recall_policies import FoldPolicy
from memory_context.conversation.ledger import MESSAGE_TOKENS
from memory_context.conversation.message import MEMORY_SOURCE
from memory_context.demo.machine_tools import machine_tools
from memory_context.exceptions import MemoryContextError
from memory_context.model.reference import MemoryRef
from memory_context.model.tool_names import QUERY, RETRIEVE, SEARCH, STORE
from memory_context.runtime import tool_descriptions_and_prompts as prompts
from memory_context.stores import MemoryStore
from memory_context.text.tokens.counter import default_counter

MEMORY_TOOLS = frozenset({QUERY, RETRIEVE, SEARCH, STORE})
MAX_ITERATIONS = 10
PREVIEW_LINES = 8


@dataclass(frozen=True, slots=True)
class MeteredCall:
    """One call of the model."""

    after: str  # what the newest message is: "user", or the tools whose results it holds
    messages: int
    sent: int  # tokens of messages and descriptions of tools
    unfolded: int  # tokens without memory-context; 0: the call would not have been needed


class MeteredContext(MemoryContext):
    """A `MemoryContext` that shows and counts what the model is sent, with and without folding."""

    def __init__(
        self, user_id: str, store: MemoryStore | str, tools: Sequence[Tool], console: Console
    ) -> None:
        super().__init__(user_id, store=store, agent_id="demo", fold=FoldPolicy(queries=True))
        self.unfolded: list[LLMMessage] = []  # as an agent without memory-context would keep it
        self.metered: list[MeteredCall] = []
        self._agent_tools = tools
        self._console = console
        self._shown = 0

    async def add_message(self, message: LLMMessage) -> None:
        """Add *message* to both conversations; what concerns the memory tools only to this one."""
        await super().add_message(message)
        if plain := without_memory_tools(message):
            self.unfolded.append(plain)
        if isinstance(message, UserMessage):
            self._console.rule(style="dim")
            self._show("user", str(message.content), style="bold green")
        elif isinstance(message, AssistantMessage):
            calls = [f"{call.name}({call.arguments})" for call in calls_of(message)]
            said = "\n".join(calls) or str(message.content)
            self._show("model", display.plain(said), style="bold blue")

    async def get_messages(self) -> list[LLMMessage]:
        """Return the prompt for the next call of the model; show what is new, and count it."""
        messages = await super().get_messages()
        after = ["user"]
        for message in messages[self._shown :]:
            if isinstance(message, FunctionExecutionResultMessage):
                after = [result.name for result in message.content]
                for result in message.content:
                    self._show_result(result)
            elif isinstance(message, UserMessage) and message.source == MEMORY_SOURCE:
                text = str(message.content)
                reason = self.decisions()[-1].why
                said = f"{_count(text):,} tokens, put before the user's message; {reason}:"
                self._show("recalled", said, display.quoted(text), style="bold magenta")
        self._shown = len(messages)
        unfolded = 0
        if not MEMORY_TOOLS.issuperset(after):
            unfolded = _tokens(prompts.DEMO_TASK, self.unfolded, self._agent_tools)
        sent = _tokens(prompts.DEMO_TASK, messages, [*self._agent_tools, *self.tools()])
        self.metered.append(MeteredCall(", ".join(after), len(messages) + 1, sent, unfolded))
        return messages

    def _show_result(self, result: FunctionExecutionResult) -> None:
        tokens = _count(result.content)
        reference, _, preview = result.content.partition("\n")
        parts: list[ConsoleRenderable | str] = [
            f"{result.name}: {tokens:,} tokens",
            display.quoted(result.content),
        ]
        if result.name not in MEMORY_TOOLS and MemoryRef.find_all(reference):
            parts = [
                f"{result.name}: folded; a reference and a preview of {tokens:,} tokens stay:",
                display.plain(reference, "cyan"),
                display.quoted(preview, PREVIEW_LINES),
            ]
        self._show("tool", *parts, style="bold yellow")

    def _show(self, label: str, *parts: ConsoleRenderable | str, style: str) -> None:
        self._console.print(display.entry(label, *parts, style=style))
        self._console.print()


async def run_agent(
    client: ChatCompletionClient, store: MemoryStore, user_id: str, project: Path, console: Console
) -> None:
    """Let an agent look around on this machine; show what it does, and what it cost.

    Raises:
        MemoryContextError: The model did not answer.
    """
    tools = machine_tools(project)
    context = MeteredContext(user_id, store, tools, console)
    agent = AssistantAgent(
        "demo",
        client,
        model_context=context,
        tools=[*tools, *context.tools()],
        system_message=prompts.DEMO_TASK,
        max_tool_iterations=MAX_ITERATIONS,
    )
    for question in (prompts.DEMO_FIRST, prompts.DEMO_SECOND, prompts.DEMO_THIRD):
        try:
            await agent.run(task=question)
        except OSError:  # of the console: nobody reads any more; clients have errors of their own
            raise
        except Exception as error:
            message = f"the model did not answer: {type(error).__name__}: {error}"
            raise MemoryContextError(message) from error
    await client.close()
    console.rule(style="dim")
    _show_balance(console, context.metered, context.stats())


def without_memory_tools(message: LLMMessage) -> LLMMessage | None:
    """Return *message* without calls and results of the memory tools; None if nothing is left."""
    if isinstance(message, FunctionExecutionResultMessage):
        results = [result for result in message.content if result.name not in MEMORY_TOOLS]
        return FunctionExecutionResultMessage(content=results) if results else None
    calls = calls_of(message)
    if not calls:
        return message
    others = [call for call in calls if call.name not in MEMORY_TOOLS]
    return AssistantMessage(content=others, source="demo") if others else None


def _show_balance(console: Console, calls: Sequence[MeteredCall], stats: ContextStats) -> None:
    columns = ("call of the model, after", "messages", "tokens sent", "without memory-context")
    rows = list[Sequence[str]]()
    for number, call in enumerate(calls, 1):
        unfolded = f"{call.unfolded:,}" if call.unfolded else "not needed"
        rows.append((f"{number}  {call.after}", f"{call.messages}", f"{call.sent:,}", unfolded))
    sent = [call.sent for call in calls]
    without = [call.unfolded for call in calls]
    rows.append(("total", "", f"{sum(sent):,}", f"{sum(without):,}"))
    console.print(display.table(columns, rows))
    console.print(
        f"\n{sum(sent) / sum(without):.1%} of the tokens were sent; "
        f"the largest prompt had {max(sent):,} instead of {max(without):,}.\n"
        f"Folded: {stats.folds} texts of {stats.tokens_folded:,} tokens, shown in {stats.tokens_shown:,}.\n"
        f"Recalled: {stats.recalls}, shown in {stats.tokens_recalled:,} tokens.\n"
        f"Counted by {default_counter().name}: messages and descriptions of tools."
    )


def _tokens(system: str, messages: Sequence[LLMMessage], tools: Iterable[Tool]) -> int:
    texts = [system, *(json.dumps(tool.schema) for tool in tools)]
    for message in messages:
        for part in neutral_of(message, ""):
            texts.extend(part.billed())
    return MESSAGE_TOKENS * (len(messages) + 1) + sum(map(_count, texts))


@lru_cache(maxsize=1000)  # each prompt repeats the one before it
def _count(text: str) -> int:
    return default_counter().count(text)
