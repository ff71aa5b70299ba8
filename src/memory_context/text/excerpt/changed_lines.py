"""Find the lines of a text that an earlier, nearly equal text does not have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from memory_context.model.selection import Cost
from memory_context.sentences_models_read import (
    CHANGED_END,
    CHANGED_SINCE,
    GAP_AT_LINE,
)
from memory_context.text.excerpt.shown_parts_and_gap_marks import NOTHING_SHOWN, Excerpt
from memory_context.text.spans import joined

MOST_CHARACTERS = 200_000
FEWEST_LINES = 10
LEAST_EQUAL = 0.7


def changed_lines(text: str, earlier: Mapping[str, str], budget: float, cost: Cost) -> Excerpt:
    """Return the lines of *text* that are not in the first nearly equal text of *earlier*.

    A first line names the key of the earlier text, and each run of new lines follows its line number. Nothing is shown
    if no earlier text is nearly equal, if no line is new, or if the new lines cost more than *budget*.

    Args:
        text: The new text.
        earlier: Earlier texts by their keys.
        budget: The most that the excerpt may cost.
        cost: Counts what a text costs, in tokens or characters.
    """
    lines = text.splitlines()
    if len(lines) < FEWEST_LINES or len(text) > MOST_CHARACTERS:
        return NOTHING_SHOWN
    for key, before in earlier.items():
        changes = _changes(lines, key, before.splitlines())
        if changes.text and cost(changes.text) <= budget:
            return changes
    return NOTHING_SHOWN


def _changes(lines: Sequence[str], key: str, earlier: Sequence[str]) -> Excerpt:
    """Return the lines that are not among *earlier*, counting repetitions; nothing if more than 30% are new."""
    unmatched = Counter(earlier)
    new = list[int]()
    for number, line in enumerate(lines, start=1):
        if unmatched[line] > 0:
            unmatched[line] -= 1
        elif line.strip():
            new.append(number)
    most = (1 - LEAST_EQUAL) * len(lines)
    if not 0 < len(new) <= most:
        return NOTHING_SHOWN
    gone = sum(count for line, count in unmatched.items() if line.strip())
    shown = [CHANGED_SINCE.format(key=key, gone=gone)]
    ranges = joined((number, number) for number in new)
    for first, last in ranges:
        shown.append(GAP_AT_LINE.format(line=first))
        shown += lines[first - 1 : last]
    shown.append(CHANGED_END)
    return Excerpt("\n".join(shown), tuple(ranges))
