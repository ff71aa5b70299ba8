"""What a prompt costs, in tokens that a provider charges in full."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from autogen_core.models import LLMMessage

from memory_context.autogen.messages import calls_of, texts_of
from memory_context.text.tokens.counter import TokenCounter

EACH_MESSAGE = 4


@dataclass(frozen=True, slots=True)
class Entry:
    """A message as it is charged and compared: its kind, and its texts with the names and arguments of its calls."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Price:
    """What is charged for a token, and for a trip: the round trip to fetch what is not in sight.

    Attributes:
        cached: The share that a token of an unchanged prefix costs.
        fetched: The most tokens of an output that a trip brings.
        asked: The tokens of a trip's question and answer beside the output.
    """

    cached: float = 0.1
    fetched: int = 2000
    asked: int = 150

    def call(self, tokens: int, prefix: int) -> float:
        """The cost of a prompt of `tokens`, of which the first `prefix` are unchanged."""
        return tokens - (1 - self.cached) * prefix

    def trip(self, tokens: int, output: int) -> float:
        """The cost of one more call with the prompt of `tokens`, for an output of `output` tokens."""
        return self.cached * tokens + min(self.fetched, output) + self.asked


def entry(message: LLMMessage) -> Entry:
    """`message` as it is charged."""
    return Entry(message.type, text_of(message))


def text_of(message: LLMMessage) -> str:
    """The message's texts, then the names and arguments of its calls, a line each."""
    calls = [part for call in calls_of(message) for part in (call.name, call.arguments)]
    return "\n".join(part for part in (*spoken(message), *calls) if part)


def spoken(message: LLMMessage) -> list[str]:
    """The message's texts, without its calls."""
    match message.type:
        case "AssistantMessage":
            return [text for text in (message.thought, message.content) if isinstance(text, str)]
        case "SystemMessage":
            return [message.content]
        case _:
            return texts_of(message)


def tokens_of(prompt: Iterable[Entry], counter: TokenCounter) -> int:
    """The tokens of a prompt, 4 more for each message."""
    return sum(counter.count(one.text) + EACH_MESSAGE for one in prompt)


def tokens_of_prefix(
    before: Sequence[Entry], prompt: Sequence[Entry], counter: TokenCounter
) -> int:
    """How many tokens at the beginning of `prompt` stood in the same place `before`.

    That goes message by message, then by characters inside the first that differs.
    """
    same = next(
        (i for i, pair in enumerate(zip(before, prompt, strict=False)) if pair[0] != pair[1]), None
    )
    if same is None:
        return tokens_of(prompt[: len(before)], counter)
    old, new = before[same], prompt[same]
    begun = _common(old.text, new.text) if old.kind == new.kind else 0
    return tokens_of(prompt[:same], counter) + counter.count(new.text[:begun])


def _common(one: str, other: str) -> int:
    """How many characters `one` and `other` begin with alike."""
    return next(
        (i for i, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]),
        min(len(one), len(other)),
    )
