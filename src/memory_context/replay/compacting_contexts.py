"""Baselines that replace old messages with shorter ones, by the rules of LangChain and of Agent Framework."""

from __future__ import annotations

from collections.abc import Sequence

from memory_context.conversation.message import Message
from memory_context.conversation.message_groups import groups
from memory_context.replay.prices import tokens_of_messages
from memory_context.replay.shortening_contexts import flat
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


def summarized(
    messages: list[Message],
    counter: TokenCounter,
    spent: list[int],
    *,
    trigger: int,
    keep: int,
    words: int,
) -> list[Message]:
    """Replace the oldest messages with a summary at a limit: the rule of LangChain's `SummarizationMiddleware`.

    Since no model writes the summary here, it consists of meaningless words and holds no value. LangChain keeps system
    messages outside of its conversation.

    Args:
        messages: All messages; those that a summary replaces are removed.
        counter: Counts tokens.
        spent: The list to which the tokens of each call that writes a summary are added.
        trigger: The number of tokens at which a prompt is summarized.
        keep: How many of the newest messages stay.
        words: The number of words in a summary.
    """
    system = [message for message in messages if message.is_system]
    spoken = [message for message in messages if not message.is_system]
    cut = max(len(spoken) - keep, 0)
    # A call stays with its results.
    if cut and spoken[cut].is_result:
        while cut and not spoken[cut].calls:
            cut -= 1
    if cut and tokens_of_messages(spoken, counter) >= trigger:
        old = tokens_of_messages(spoken[:cut], counter)
        spent.append(SUMMARY_PROMPT + min(old, SUMMARIZED))
        text = SUMMARY + " ".join(["word"] * words)
        summary = Message(f"summary-{spoken[cut].id}", "user", "user", {0: text})
        messages[:] = [*system, summary, *spoken[cut:]]
    return list(messages)


def compacted(
    messages: list[Message], counter: TokenCounter, *, tokens: int = 16_000, keep: int = 4
) -> list[Message]:
    """Join old results and drop the oldest messages: the rule of Agent Framework's `ContextWindowCompactionStrategy`.

    Args:
        messages: All messages; those that are joined or dropped stay so in later prompts.
        counter: Counts tokens.
        tokens: The budget of a prompt.
        keep: How many of the newest calls keep their results as they are.
    """
    collapsed_above = int(tokens * COLLAPSED_ABOVE)
    kept = [messages[start:stop] for start, stop in groups(messages)]
    if tokens_of_messages(messages, counter) > collapsed_above:
        called = [index for index, group in enumerate(kept) if group[0].calls]
        old = max(len(called) - keep, 0)
        for index in called[:old]:
            results = _results_of(kept[index])
            kept[index] = [results]
        messages[:] = flat(kept)
    if tokens_of_messages(messages, counter) > int(tokens * TRUNCATED_ABOVE):
        droppable = [group for group in kept if not group[0].is_system]
        # The newest group always stays.
        for group in droppable[:-1]:
            if tokens_of_messages(messages, counter) <= collapsed_above:
                break
            kept.remove(group)
            messages[:] = flat(kept)
    return list(messages)


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
