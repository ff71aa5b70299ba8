"""Find lines unlike the others: the one pod that restarts among sixty that run, the failed test among the passed ones."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import chain

from memory_context.text.lines import line_spans
from memory_context.text.ranges import Span

LEAST_LINES = 20
# Lines whose form occurs this often count as a list, and this share of a text's lines must be in lists.
LISTED = 3
LEAST_LISTED = 0.6
# If more than this share of the lines have a form of their own, they are not exceptions.
MOST_RARE = 0.25
_WORD = re.compile(r"""[^\s,;:|"'(){}\[\]]+""")


def rare_lines(text: str, regions: Iterable[Span], most_words: int | None = None) -> list[Span]:
    """Return where the lines begin and end whose form no other line has, if the text consists mostly of lists.

    A line's form is its words, with each word that holds anything but letters replaced by ``0``.

    Args:
        text: The whole text.
        most_words: How many words at the beginning of a line make its form; None for all of them.
        regions: The parts of it to read: all of a text of up to 100,000 characters, the hotspots of a longer one.
    """
    forms = list[tuple[Span, str]]()
    spans = (line_spans(text, start, end) for start, end in regions)
    for start, stop in chain.from_iterable(spans):
        words = _WORD.findall(text[start:stop])[:most_words]
        if words:
            form = " ".join(word if word.isalpha() else "0" for word in words)
            forms.append(((start, stop), form))
    if len(forms) < LEAST_LINES:
        return []
    counts = Counter(form for _, form in forms)
    listed = sum(count for count in counts.values() if count >= LISTED)
    rare = [span for span, form in forms if counts[form] == 1]
    is_list = listed >= LEAST_LISTED * len(forms)
    return rare if is_list and len(rare) <= MOST_RARE * len(forms) else []
