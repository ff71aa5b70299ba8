"""What a prompt costs, in tokens that a provider charges in full."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from autogen_core.models import AssistantMessage, LLMMessage, SystemMessage

from memory_context.autogen.messages import calls_of, texts_of
from memory_context.text.tokens.counter import TokenCounter

TOKENS_PER_MESSAGE = 4


@dataclass(frozen=True, slots=True)
class ChargedMessage:
    """A message as a provider charges and caches it.

    Attributes:
        kind: The name of its class.
        text: Its texts, then the names and arguments of its calls, a line each.
    """

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Price:
    """What a provider charges for tokens, and what a *trip* costs: one more call, to look a value up.

    Attributes:
        cached: The share of the full price that a token of an unchanged prefix costs.
        fetched: The most tokens of an output that a trip brings back.
        asked: The tokens of a trip's question and answer beside the output.
    """

    cached: float = 0.1
    fetched: int = 2000
    asked: int = 150

    def call(self, tokens: int, prefix: int) -> float:
        """Return the cost of a prompt of `tokens`, of which the first `prefix` are unchanged."""
        return tokens - (1 - self.cached) * prefix

    def trip(self, tokens: int, output: int) -> float:
        """Return the cost of a trip from a prompt of `tokens` for an output of `output` tokens."""
        return self.cached * tokens + min(self.fetched, output) + self.asked


def charged(message: LLMMessage) -> ChargedMessage:
    """Return `message` as it is charged."""
    return ChargedMessage(message.type, text_of(message))


def text_of(message: LLMMessage) -> str:
    """Return the message's texts, then the names and arguments of its calls, a line each."""
    parts = spoken(message)
    for call in calls_of(message):
        parts += [call.name, call.arguments]
    return "\n".join(filter(None, parts))


def spoken(message: LLMMessage) -> list[str]:
    """Return the message's texts, without its calls."""
    if isinstance(message, SystemMessage):
        return [message.content]
    if isinstance(message, AssistantMessage):
        return [text for text in (message.thought, message.content) if isinstance(text, str)]
    return texts_of(message)


def tokens_of(prompt: Iterable[ChargedMessage], counter: TokenCounter) -> int:
    """Count the tokens of a prompt, `TOKENS_PER_MESSAGE` more for each message."""
    return sum(counter.count(message.text) + TOKENS_PER_MESSAGE for message in prompt)


def tokens_of_prefix(
    before: Sequence[ChargedMessage], prompt: Sequence[ChargedMessage], counter: TokenCounter
) -> int:
    """Count the tokens at the beginning of `prompt` that are the same as in the prompt `before`.

    Compares message by message, then by characters inside the first message that differs.
    """
    same = _common_length(before, prompt)
    tokens = tokens_of(prompt[:same], counter)
    if same < min(len(before), len(prompt)) and before[same].kind == prompt[same].kind:
        text = prompt[same].text
        tokens += counter.count(text[: _common_length(before[same].text, text)])
    return tokens


def _common_length(left: Sequence[object], right: Sequence[object]) -> int:
    """Return how many items `left` and `right` begin with alike."""
    length = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        length += 1
    return length
