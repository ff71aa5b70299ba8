"""The demo's conversation and its balance, in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from autogen_core import FunctionCall
from autogen_core.models import FunctionExecutionResult, FunctionExecutionResultMessage, LLMMessage
from rich.console import Console, ConsoleRenderable
from rich.text import Text

from memory_context import display
from memory_context.autogen import ContextStats, MemoryContext
from memory_context.autogen.messages import texts_of
from memory_context.demo.meter import Call
from memory_context.demo.recalled import best_of, is_recalled, recalled_lines
from memory_context.model.reference import MemoryRef
from memory_context.text.tokens.counter import default_counter

PREVIEW_LINES = 8
RECALLED_CHARACTERS = 900
ANSWER_LINES = 24


@dataclass
class Screen:
    """Shows the conversation of `context` as it goes."""

    console: Console
    context: MemoryContext
    calls: list[Call] = field(default_factory=list[Call])
    question: str = ""

    def asked(self, question: str) -> None:
        """The user's message."""
        self.question = question
        self.console.rule(style="dim")
        self._show("user", question, style="bold green")

    def prompted(
        self, call: Call, news: Sequence[LLMMessage], originals: Mapping[str, str]
    ) -> None:
        """What is new in the prompt: results, folded or not, and what was recalled."""
        self.calls.append(call)
        for message in news:
            if isinstance(message, FunctionExecutionResultMessage):
                for result in message.content:
                    self._show(
                        "tool",
                        *_result(result, originals.get(result.call_id, result.content)),
                        style="bold yellow",
                    )
            elif is_recalled(message):
                self._show("recalled", *self._recalled(message), style="bold magenta")

    def replied(self, reply: str | list[FunctionCall]) -> None:
        """What the model says, or calls."""
        calls = (
            []
            if isinstance(reply, str)
            else [display.plain(f"{call.name}({_arguments(call)})") for call in reply]
        )
        said = [display.plain(reply)] if isinstance(reply, str) else []
        self._show("model", *said, *calls, style="bold blue")

    def _recalled(self, message: LLMMessage) -> Iterator[ConsoleRenderable | str]:
        tokens, places = (
            sum(map(default_counter().count, texts_of(message))),
            recalled_lines([message]),
        )
        best = best_of(places, self.question, RECALLED_CHARACTERS)
        yield f"{tokens:,} tokens, put before the user's message; {self.context.decisions()[-1].why}:"
        for ref, lines in groupby(best, key=lambda place: place.ref):
            yield display.reference(ref)
            yield from (display.numbered(place.number, place.line) for place in lines)
        yield display.more(len(places) - len(best))

    def _show(self, label: str, *parts: ConsoleRenderable | str, style: str) -> None:
        self.console.print(display.entry(label, *parts, style=style))
        self.console.print()


def _result(result: FunctionExecutionResult, original: str) -> list[ConsoleRenderable | str]:
    before, shown = default_counter().count(original), default_counter().count(result.content)
    size = f"{result.name}: {len(original):,} characters, {before:,} tokens"
    first, _, preview = result.content.partition("\n")
    refs = MemoryRef.find_all(first)
    if result.content == original or not refs:
        return [size, display.quoted(result.content, ANSWER_LINES)]
    folded = f"folded; its preview keeps {shown:,} tokens in the prompt:"
    return [size, Text(folded), display.reference(refs[0]), display.quoted(preview, PREVIEW_LINES)]


def _arguments(call: FunctionCall) -> str:
    return "" if call.arguments == "{}" else call.arguments


def show_balance(console: Console, calls: Sequence[Call], stats: ContextStats) -> None:
    """What was sent, call by call, with and without memory-context."""
    columns = ("call of the model, after", "messages", "tokens sent", "without memory-context")
    rows = [
        (f"{number}  {call.newest}", str(call.messages), *_tokens(call))
        for number, call in enumerate(calls, 1)
    ]
    sent, without = sum(call.sent for call in calls), sum(call.without or 0 for call in calls)
    console.rule(style="dim")
    console.print(display.table(columns, rows, ("total", "", f"{sent:,}", f"{without:,}")))
    console.print()
    for line in _summary(calls, stats, sent / without):
        console.print(line)


def _tokens(call: Call) -> tuple[str, str]:
    return f"{call.sent:,}", f"{call.without:,}" if call.without is not None else "not needed"


def _summary(calls: Sequence[Call], stats: ContextStats, share: float) -> Iterator[str]:
    largest, without = max(call.sent for call in calls), max(call.without or 0 for call in calls)
    yield f"{share:.1%} of the tokens were sent; the largest prompt had {largest:,} instead of {without:,}."
    yield f"Folded: {stats.folds} texts of {stats.tokens_folded:,} tokens, shown in {stats.tokens_shown:,}."
    yield f"Recalled: {stats.recalls}, shown in {stats.tokens_recalled:,} tokens."
    if stats.store_failures:
        yield f"The store failed {stats.store_failures} times; those texts stayed in the prompt."
    yield f"Counted by {default_counter().name}: messages and the descriptions of tools."
