"""Find notes that say the same, and merge them into one: decided by their words, without a model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from memory_context.text.words_and_names import names

SHINGLE = 3
# Two lines that resemble each other at least this much say the same.
SAME_LINE = 0.8
# A contraction counts without its "'t": the words of "couldn't" are "couldn" and "t".
_NEGATIONS = (
    "no not never none nor without cannot ain aren couldn didn doesn don hadn hasn haven isn mustn needn shouldn wasn "
    "weren won wouldn kein keine keinen keiner nicht nie ohne jamais ne pas sans jamás nunca sin"
)
_NEGATIVE_WORDS = frozenset(_NEGATIONS.split())
_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"\d+")


def word_set(text: str) -> frozenset[str]:
    """Return the words of `text`, in lower case."""
    return frozenset(_WORD.findall(text.lower()))


def shingles(text: str) -> frozenset[tuple[str, ...]]:
    """Return every three consecutive words of `text`; all words of a shorter text as one shingle.

    Broder, "On the resemblance and containment of documents" (1997).
    """
    return runs(text, SHINGLE) or frozenset([tuple(_WORD.findall(text.lower()))])


def runs(text: str, length: int) -> frozenset[tuple[str, ...]]:
    """Return every `length` consecutive words, in lower case."""
    words = _WORD.findall(text.lower())
    # The first run takes the first word of each list, the second one the second word, and so on.
    shifted = [words[start:] for start in range(length)]
    return frozenset(zip(*shifted, strict=False))


def resemblance(one: AbstractSet[object], other: AbstractSet[object]) -> float:
    """Return the Jaccard similarity of two sets, 0 to 1: their intersection's size divided by their union's."""
    if not one and not other:
        return 1.0
    return len(one & other) / len(one | other)


def groups(sets: Sequence[AbstractSet[object]], least: float) -> list[list[int]]:
    """Group the indexes of similar sets: each set joins the first group whose first set it resembles by at least `least`.

    Only sets that have an element in common are compared.
    """
    found = list[list[int]]()
    groups_led_by = dict[object, list[int]]()
    for index, elements in enumerate(sets):
        candidates = set[int]()
        for element in elements:
            candidates.update(groups_led_by.get(element, ()))
        for group in sorted(candidates):
            leader = sets[found[group][0]]
            if resemblance(elements, leader) >= least:
                found[group].append(index)
                break
        else:
            for element in elements:
                groups_led_by.setdefault(element, []).append(len(found))
            found.append([index])
    return found


def merged(texts: Sequence[str]) -> str:
    """Merge `texts`, which are in order from oldest to newest: the first one, with what the others add to it.

    A line of a later text is left out if an earlier line covers it. Otherwise it replaces the first line that it covers or
    rewords, or else is appended. One line *covers* another if it has all of its words, names and numbers, and the same
    negations. It *rewords* another if it has the same names, numbers and negations, and nearly the same words.
    """
    lines = list[_NoteLine]()
    for text in texts:
        new_lines = [_NoteLine(line) for line in text.split("\n")]
        if not lines:
            lines = new_lines
            continue
        known = list(lines)
        for line in new_lines:
            is_known = any(other.covers(line) for other in known)
            if is_known or not line.words:
                continue
            for index, other in enumerate(known):
                if line.replaces(other):
                    lines[index] = line
                    known[index] = line
                    break
            else:
                lines.append(line)
    return "\n".join(line.text for line in lines)


class _NoteLine:
    """A line of a note, with its words, facts (names and numbers) and negations."""

    __slots__ = ("facts", "negations", "text", "words")

    def __init__(self, text: str) -> None:
        self.text = text
        self.words = word_set(text)
        self.facts = {*names(text), *_NUMBER.findall(text)}
        self.negations = self.words & _NEGATIVE_WORDS

    def covers(self, other: _NoteLine) -> bool:
        """Return whether this line says all that another one says."""
        return (
            self.negations == other.negations
            and other.words <= self.words
            and other.facts <= self.facts
        )

    def replaces(self, other: _NoteLine) -> bool:
        """Return whether this line says all that another one says, or the same in a newer wording."""
        if not other.words:
            return False
        is_reworded = (
            self.facts == other.facts
            and self.negations == other.negations
            and resemblance(self.words, other.words) >= SAME_LINE
        )
        return is_reworded or self.covers(other)
