"""Bringing back what the newest message needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from autogen_core.models import FunctionExecutionResultMessage

from memory_context import _prompts
from memory_context._excerpt import Excerpt, excerpt, terms
from memory_context._judge import Choice, Ranges, choose
from memory_context.autogen.tools import answered_lines
from memory_context.manager import MemoryManager

MAX_HITS = 5
LEAST_BUDGET = 30


@dataclass(frozen=True, slots=True)
class Recall:
    """What is brought back.

    Attributes:
        text: The text of the message that shows it.
        ranges: For each memory, the lines that are shown.
        tokens: The tokens of `text`.
    """

    text: str
    ranges: Mapping[str, Ranges]
    tokens: int


def find(
    manager: MemoryManager,
    question: str,
    named: Iterable[str],
    candidates: Mapping[str, Ranges],
    budget: int,
    in_sight: Callable[[str], bool],
) -> Recall | None:
    """What to show of the memories that are `named`, and of the `candidates` that hold what is asked for.

    Args:
        manager: The user's memories; a key that is not theirs is as good as none.
        question: The newest message.
        named: The keys that a person has named: opened without further question.
        candidates: The keys of the conversation's references, with the lines that are in sight.
        budget: The most tokens.
        in_sight: Whether a text stands in the prompt.

    Raises:
        StoreError: The store failed.
    """
    opened = manager.memory_store.get_many(manager.scope, sorted(named))
    choices = [Choice(item, question, "it was named") for item in opened]
    others = [key for key in candidates if key not in {item.memory_key for item in opened}]
    if others and terms(question):
        filters = {"memory_key": others}
        hits = manager.memory_store.search(manager.scope, question, limit=MAX_HITS, filters=filters)
        choices += choose(question, (hit for hit in hits if not in_sight(hit.text)), candidates)
    return _shown(manager, choices, budget, in_sight)


def _shown(
    manager: MemoryManager, choices: list[Choice], budget: int, in_sight: Callable[[str], bool]
) -> Recall | None:
    count = manager.counter.count
    left = budget - count(f"{_prompts.RECALL_HEADER}\n{_prompts.RECALL_FOOTER}")
    parts, ranges = list[str](), dict[str, Ranges]()
    for rank, choice in enumerate(choices):
        part, lines = _part(choice, left // (len(choices) - rank), manager)
        if part and not in_sight(lines.render()):
            parts.append(part)
            left -= count(part) + 1
            ranges[choice.item.memory_key] = lines.ranges
    if not parts:
        return None
    text = "\n".join((_prompts.RECALL_HEADER, *parts, _prompts.RECALL_FOOTER))
    return Recall(text, ranges, count(text))


def _part(choice: Choice, budget: int, manager: MemoryManager) -> tuple[str, Excerpt]:
    item, count = choice.item, manager.counter.count
    left = budget - count(_prompts.RECALLED_PART.format(ref=item.ref, text="")) - 1
    lines = excerpt(item.text, choice.question, left, count) if left >= LEAST_BUDGET else Excerpt((), 0)
    return _prompts.RECALLED_PART.format(ref=item.ref, text=lines.render()) if lines.lines else "", lines


def lines_in_sight(message: FunctionExecutionResultMessage) -> Iterator[tuple[str, tuple[int, int]]]:
    """The keys that reading tools have answered for, with the lines that their answers show."""
    answers = (answered_lines(result) for result in message.content)
    return (answer for answer in answers if answer)
