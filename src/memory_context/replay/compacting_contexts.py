"""Baselines that replace old messages by shorter ones: by the rules of LangChain and of Agent Framework."""

from __future__ import annotations

from collections.abc import Sequence

from memory_context.conversation.message import Message
from memory_context.conversation.message_groups import groups
from memory_context.replay.prices import tokens_of_messages
from memory_context.replay.shortening_contexts import ShorteningContext, flat
from memory_context.text.tokens.counter import TokenCounter

# The size of LangChain 1.5's prompt for a summary, in tokens of o200k_base, and the most tokens of messages in it.
SUMMARY_PROMPT = 491
SUMMARIZED = 4000
SUMMARY = "Here is a summary of the conversation to date:\n\n"
# Agent Framework 1.23 joins the results of old calls into one text of at most LONGEST characters.
RESULTS = "[Tool results: "
RESULTS_END = "]"
CUT = "... [truncated]"
LONGEST = 4096
# Shares of a budget: above the first, old results are joined; above the second, the oldest messages are dropped.
COLLAPSED_ABOVE = 0.5
TRUNCATED_ABOVE = 0.8


class SummarizingContext(ShorteningContext):
    """Replaces the oldest messages by a summary at a limit, as LangChain's `SummarizationMiddleware` does.

    Since no model writes the summary here, it consists of *words* meaningless words and holds no value.

    Args:
        counter: Counts tokens.
        trigger: The number of tokens from which a prompt is summarized.
        keep: How many of the newest messages stay.
        words: The number of words in a summary.
    """

    def __init__(self, counter: TokenCounter, trigger: int, keep: int, words: int) -> None:
        super().__init__()
        self.spent = 0
        self._counter = counter
        self._trigger = trigger
        self._keep = keep
        self._words = words

    async def prompt(self) -> list[Message]:
        """Return a summary and the messages after it. LangChain keeps system messages outside of its conversation."""
        system = [message for message in self._messages if message.is_system]
        spoken = [message for message in self._messages if not message.is_system]
        cut = max(len(spoken) - self._keep, 0)
        # A call stays with its results.
        if cut and spoken[cut].is_result:
            while cut and not spoken[cut].calls:
                cut -= 1
        if cut and tokens_of_messages(spoken, self._counter) >= self._trigger:
            old = spoken[:cut]
            kept = spoken[cut:]
            summarized = tokens_of_messages(old, self._counter)
            self.spent += SUMMARY_PROMPT + min(summarized, SUMMARIZED)
            words = ["word"] * self._words
            text = SUMMARY + " ".join(words)
            summary = Message(f"summary-{kept[0].id}", "user", "user", {0: text})
            self._messages = [*system, summary, *kept]
        return list(self._messages)


class CompactingContext(ShorteningContext):
    """Joins old results and drops the oldest messages, as Agent Framework's `ContextWindowCompactionStrategy` does.

    Args:
        counter: Counts tokens.
        tokens: The budget of a prompt.
        keep: How many of the newest calls keep their results as they are.
    """

    def __init__(self, counter: TokenCounter, tokens: int, keep: int) -> None:
        super().__init__()
        self._counter = counter
        self._keep = keep
        self._collapsed_above = int(tokens * COLLAPSED_ABOVE)
        self._truncated_above = int(tokens * TRUNCATED_ABOVE)

    async def prompt(self) -> list[Message]:
        """Return the messages that are left."""
        kept = [self._messages[start:stop] for start, stop in groups(self._messages)]
        if self._tokens() > self._collapsed_above:
            called = [index for index, group in enumerate(kept) if group[0].calls]
            old = max(len(called) - self._keep, 0)
            for index in called[:old]:
                results = _results_of(kept[index])
                kept[index] = [results]
            self._messages = flat(kept)
        if self._tokens() > self._truncated_above:
            droppable = [group for group in kept if not group[0].is_system]
            # The newest group always stays.
            for group in droppable[:-1]:
                if self._tokens() <= self._collapsed_above:
                    break
                kept.remove(group)
                self._messages = flat(kept)
        return list(self._messages)

    def _tokens(self) -> int:
        return tokens_of_messages(self._messages, self._counter)


def _results_of(group: Sequence[Message]) -> Message:
    """Return one message with the results of a group's calls."""
    calling = group[0]
    names = {call.id: call.name for call in calling.calls}
    results = list[str]()
    for message in group:
        if message.answers in names:
            result = f"{names[message.answers]}: {message.text}"
            results.append(result.strip())
    label = "; ".join(results) or "no results"
    room = LONGEST - len(RESULTS) - len(RESULTS_END)
    if len(label) > room:
        cut = label[: room - len(CUT)]
        label = cut.rstrip() + CUT
    text = f"{RESULTS}{label}{RESULTS_END}"
    return Message(f"results-{calling.id}", "assistant", calling.source, {0: text})
