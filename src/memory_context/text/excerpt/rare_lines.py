"""Find lines unlike the others: the one pod that restarts among sixty that run, the failed test among the passed ones."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import chain, islice

from memory_context.text.lines import line_spans
from memory_context.text.ranges import Span

LEAST_LINES = 20
# Lines whose form occurs this often count as a list, and this share of a text's lines must be in lists.
LISTED = 3
LEAST_LISTED = 0.6
# If more than this share of the lines have a form of their own, they are not exceptions.
MOST_RARE = 0.25
_WORD = re.compile(r"""[^\s,;:|"'(){}\[\]]+""")


def rare_lines(text: str, regions: Iterable[Span], most_words: int | None = None) -> list[int]:
    """Return where the first words are of the lines whose form no other has, if the text consists mostly of lists.

    A line's form is its words, with each word that holds anything but letters replaced by ``0``.

    Args:
        text: The whole text.
        regions: The parts of it to read: all of a text of up to 100,000 characters, the hotspots of a longer one.
        most_words: How many words at the beginning of a line make its form; None for all of them.
    """
    forms = dict[int, str]()
    spans = (line_spans(text, start, end) for start, end in regions)
    for start, stop in chain.from_iterable(spans):
        found = list(islice(_WORD.finditer(text, start, stop), most_words))
        if found:
            words = [match[0] for match in found]
            form = [word if word.isalpha() else "0" for word in words]
            forms[found[0].start()] = " ".join(form)
    if len(forms) < LEAST_LINES:
        return []
    counts = Counter(forms.values())
    listed = sum(count for count in counts.values() if count >= LISTED)
    if listed < LEAST_LISTED * len(forms):
        return []
    rare = [place for place, form in forms.items() if counts[form] == 1]
    if len(rare) > MOST_RARE * len(forms):
        return []
    return rare
