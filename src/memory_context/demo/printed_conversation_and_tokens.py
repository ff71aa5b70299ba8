"""Show the demo's conversation, and count the tokens of each prompt, with memory-context and without it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from rich.console import Console, ConsoleRenderable

from memory_context import sentences_models_read as prompts
from memory_context.conversation.context_stats import ContextStats
from memory_context.conversation.message import Message
from memory_context.conversation.recording_to_call_log import Decisions
from memory_context.display.safe_terminal_output import entry, plain, quoted, table
from memory_context.model.reference import MemoryRef
from memory_context.model.tool_names import MEMORY_TOOLS
from memory_context.replay.prices import tokens_of_messages
from memory_context.replay.token_meter import TokenMeter

PREVIEW_LINES = 8


@dataclass(frozen=True, slots=True)
class MeteredCall:
    """One call of the model."""

    after: str  # the source of the newest messages: "user", or the tools that returned them
    messages: int
    sent: int  # tokens of the messages and of the tools' schemas
    unfolded: int  # tokens without memory-context; 0 if the call would not have been needed


class Meter:
    """Shows a conversation, and counts the prompts that are sent to its model, with and without folding.

    Args:
        console: The console to show the conversation on.
        outputs: By the name of each tool, its newest output as a whole.

    Attributes:
        calls: The calls of the model so far.
        unfolded: The conversation as an agent without memory-context would keep it.
    """

    def __init__(self, console: Console, outputs: Mapping[str, str]) -> None:
        self.calls = list[MeteredCall]()
        self.unfolded = list[Message]()
        self._console = console
        self._outputs = outputs
        self._shown = 0
        # Each prompt repeats the one before it.
        self._counter = TokenMeter()

    def question(self, text: str) -> None:
        """Show a person's question."""
        self._console.rule(style="dim")
        self._show("user", text, style="bold green")
        self.unfolded.append(Message("", "user", "user", {0: text}))

    def prompt(
        self, messages: Sequence[Message], schemas: Mapping[str, str], decisions: Decisions
    ) -> None:
        """Show the new messages of a prompt, and count the prompt, including the tools' *schemas* (by tool name)."""
        messages = [message for message in messages if not message.is_system]
        after = list[str]()
        for message in messages[self._shown :]:
            if message.is_result:
                after.append(message.source)
                self._show_result(message)
            elif message.is_ours:
                tokens = self._counter.count(message.text)
                why = decisions[-1].why
                heading = f"{tokens:,} tokens, put before the user's message; {why}:"
                self._show("recalled", heading, quoted(message.text), style="bold magenta")
        self._shown = len(messages)
        # A call after answers of memory tools alone is one that folding has caused.
        unfolded = 0
        if not after or not MEMORY_TOOLS.issuperset(after):
            others = [text for name, text in schemas.items() if name not in MEMORY_TOOLS]
            unfolded = self._tokens(self.unfolded, others)
        source = ", ".join(after) or "user"
        sent = self._tokens(messages, schemas.values())
        self.calls.append(MeteredCall(source, len(messages) + 1, sent, unfolded))

    def answer(self, message: Message) -> None:
        """Show the model's answer, or the tools that it calls."""
        calls = [f"{call.name}({call.arguments})" for call in message.calls]
        said = "\n".join(calls) or message.text
        self._show("model", plain(said), style="bold blue")
        others = tuple(call for call in message.calls if call.name not in MEMORY_TOOLS)
        if others or not message.calls:
            self.unfolded.append(replace(message, calls=others))

    def balance(self, stats: ContextStats) -> None:
        """Show the tokens that were sent with each call, and their total."""
        self._console.rule(style="dim")
        columns = ("call of the model, after", "messages", "tokens sent", "without memory-context")
        rows = list[Sequence[str]]()
        for number, call in enumerate(self.calls, 1):
            unfolded = f"{call.unfolded:,}" if call.unfolded else "not needed"
            rows.append((f"{number}  {call.after}", f"{call.messages}", f"{call.sent:,}", unfolded))
        sent = [call.sent for call in self.calls]
        without = [call.unfolded for call in self.calls]
        total = sum(sent)
        full_total = sum(without)
        rows.append(("total", "", f"{total:,}", f"{full_total:,}"))
        self._console.print(table(columns, rows))
        self._console.print(
            f"\n{total / full_total:.1%} of the tokens were sent; "
            f"the largest prompt had {max(sent):,} instead of {max(without):,}.\n"
            f"Folded: {stats.folds} texts of {stats.tokens_folded:,} tokens, shown in {stats.tokens_shown:,}.\n"
            f"Recalled: {stats.recalls}, shown in {stats.tokens_recalled:,} tokens.\n"
            f"Counted by {self._counter.name}: messages and descriptions of tools."
        )

    def _show_result(self, result: Message) -> None:
        tokens = self._counter.count(result.text)
        reference, _, preview = result.text.partition("\n")
        parts: list[ConsoleRenderable | str] = [
            f"{result.source}: {tokens:,} tokens",
            quoted(result.text),
        ]
        if result.source not in MEMORY_TOOLS:
            whole = self._outputs.get(result.source, result.text)
            self.unfolded.append(replace(result, texts={0: whole}))
            if MemoryRef.find_all(reference):
                parts = [
                    f"{result.source}: folded; a reference and a preview of {tokens:,} tokens stay:",
                    plain(reference, "cyan"),
                    quoted(preview, PREVIEW_LINES),
                ]
        self._show("tool", *parts, style="bold yellow")

    def _show(self, label: str, *parts: ConsoleRenderable | str, style: str) -> None:
        self._console.print(entry(label, *parts, style=style))
        self._console.print()

    def _tokens(self, messages: Sequence[Message], schemas: Iterable[str]) -> int:
        # The task is the system message.
        task = Message("", "system", "system", {0: prompts.DEMO_TASK})
        around = sum(map(self._counter.count, schemas))
        return around + tokens_of_messages([task, *messages], self._counter)
