"""The cost of prompts, in tokens at the full price: a cached token counts as a fraction of one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from memory_context.conversation.message import Message
from memory_context.exceptions import InvalidArgumentError
from memory_context.text.tokens.counter import TokenCounter

TOKENS_PER_MESSAGE = 4
# Smaller sums, in dollars, are shown with more digits than cents.
CENTS = 0.1
# Smaller sums, in dollars, are shown as less than this; Python would write them as 2e-05.
LEAST = 0.0001


@dataclass(frozen=True, slots=True)
class ChargedMessage:
    """A message as a provider charges and caches it.

    Attributes:
        role: The role of the message.
        text: The texts of the message, then the names and arguments of its calls, each on its own line.
    """

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Price:
    """The price of tokens, and of a *trip*: one more model call, to look a value up.

    Attributes:
        model: The name of the model, or a description of the price that a user gave.
        dollars: The full price of a million input tokens.
        cached: The price of a token in an unchanged prefix, as a share of the full price.
        fetched: The most tokens of an output that a trip brings back.
        asked: The tokens that a trip adds beside the output, in its call and answer.
    """

    model: str = "gpt-5.4"
    dollars: float = 2.5
    cached: float = 0.1
    fetched: int = 2000
    asked: int = 150

    def call(self, tokens: int, prefix: int) -> float:
        """Return the cost of a prompt of `tokens`, of which the first `prefix` are unchanged."""
        return tokens - (1 - self.cached) * prefix

    def trip(self, tokens: int, output: int) -> float:
        """Return the cost of a trip from a prompt of `tokens` for an output of `output` tokens."""
        return self.cached * tokens + min(self.fetched, output) + self.asked

    def in_dollars(self, cost: float) -> str:
        """Return *cost*, which is in tokens at the full price, in dollars; small sums have more digits than cents."""
        dollars = cost * self.dollars / 1e6
        if dollars < LEAST:
            return f"less than ${LEAST}"
        if dollars >= CENTS:
            return f"${dollars:,.2f}"
        return f"${dollars:.2g}"


# Standard rates in dollars per million input and cached input tokens, looked up in June 2026. Anthropic charges a quarter
# more for tokens that it writes into its cache; that is not counted.
PRICES = {
    "gpt-5.5": (5.0, 0.5),
    "gpt-5.4": (2.5, 0.25),
    "gpt-5.4-mini": (0.75, 0.075),
    "gpt-5.4-nano": (0.2, 0.02),
    "claude-opus-4.7": (5.0, 0.5),
    "claude-sonnet-4.6": (3.0, 0.3),
}


def parse_price(text: str) -> Price:
    """Parse a price: the name of a model, or ``2.50/0.25`` in dollars per million tokens, in full and cached.

    Raises:
        InvalidArgumentError: It is neither.
    """
    if text in PRICES:
        full, cached = PRICES[text]
        return Price(text, full, cached / full)
    full_text, slash, cached_text = text.partition("/")
    with suppress(ValueError):
        full = float(full_text)
        cached = float(cached_text) if slash else full
        if full > 0 and 0 <= cached <= full < float("inf"):
            return Price(f"${full:g} a million tokens, ${cached:g} cached", full, cached / full)
    raise InvalidArgumentError(
        f"the price {text!r:.40} is not known; give dollars per million input and cached input tokens, "
        f"such as 2.50/0.25, or one of {', '.join(PRICES)}"
    )


def charged(message: Message) -> ChargedMessage:
    """Return `message` as it is charged."""
    texts = filter(None, message.billed())
    return ChargedMessage(message.role, "\n".join(texts))


def tokens_of(prompt: Iterable[ChargedMessage], counter: TokenCounter) -> int:
    """Count the tokens of a prompt, plus `TOKENS_PER_MESSAGE` for each message."""
    return sum(counter.count(message.text) + TOKENS_PER_MESSAGE for message in prompt)


def tokens_of_messages(messages: Iterable[Message], counter: TokenCounter) -> int:
    """Count the tokens of a prompt that is made of these messages."""
    return tokens_of(map(charged, messages), counter)


def tokens_of_prefix(
    before: Sequence[ChargedMessage], prompt: Sequence[ChargedMessage], counter: TokenCounter
) -> int:
    """Count the tokens at the beginning of `prompt` that are the same as in the prompt `before`.

    Compares message by message, then by characters inside the first message that differs.
    """
    same = _common_length(before, prompt)
    tokens = tokens_of(prompt[:same], counter)
    if same < min(len(before), len(prompt)):
        old = before[same]
        new = prompt[same]
        if old.role == new.role:
            unchanged = _common_length(old.text, new.text)
            tokens += counter.count(new.text[:unchanged])
    return tokens


def _common_length(left: Sequence[object], right: Sequence[object]) -> int:
    """Return how many items at the beginning of `left` and `right` are equal."""
    length = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        length += 1
    return length
