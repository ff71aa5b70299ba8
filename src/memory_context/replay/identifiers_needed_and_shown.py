"""Find the values that a model call needed, and whether its prompt showed them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

SHORTEST = 5
NEIGHBOURS = 12
"""How many characters beside a value must be in the prompt too: a bare name does not say what it names."""

# Five characters at least; shorter strings occur everywhere by chance.
_IDENTIFIER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./:@#-]{4,}")
# What distinguishes a name from a word: a digit, a character that words do not have, or camelCase.
_TELLING = re.compile(r"[0-9_/@#.]|[a-z][A-Z]")
# The same value has different characters around it in JSON, in a repr and in prose.
_LOOSE = re.compile(r"""[\s"'`()\[\]{}<>,:]+""")


def identifiers(text: str) -> list[str]:
    """Return the strings of `text` that look like identifiers, each once, in order.

    An identifier has five characters or more, among them a digit, ``_``, ``/``, ``@``, ``#``, a dot, or a capital after a
    small letter; ``.``, ``:``, ``/`` and ``-`` at its ends are not part of it.
    """
    stripped = [word.strip(".:/-") for word in _IDENTIFIER.findall(text)]
    words = dict.fromkeys(stripped)
    return [word for word in words if len(word) >= SHORTEST and _TELLING.search(word)]


def needed_values(reply: str, outputs: Sequence[str], others: Sequence[str]) -> list[str]:
    """Return the identifiers of `reply` that are in earlier `outputs`, but in none of the `others`."""
    # No identifier has a line break in it, so none spans two texts.
    seen = "\n".join(outputs)
    given = "\n".join(others)
    return [value for value in identifiers(reply) if value in seen and value not in given]


def squash(text: str) -> str:
    """Return `text` with one space for each run of white space, quotes, brackets, commas and colons."""
    return _LOOSE.sub(" ", text)


def passages(word: str, outputs: Iterable[str]) -> frozenset[str]:
    """Return the texts that show `word`: each of its occurrences in `outputs`, with its neighbours on one side.

    If an output has too few characters on both sides of every occurrence, the text is the whole output.
    """
    found = set[str]()
    for output in outputs:
        windows = [window for window in _windows(word, output) if _is_whole(word, window)]
        found.update(windows)
        if word in output and not windows:
            found.add(output)
    return frozenset(found)


def shows(word: str, known: frozenset[str], text: str) -> bool:
    """Return whether one of the `known` passages of `word` is in `text`, in time linear in the text."""
    if any(window in known for window in _windows(word, text)):
        return True
    # The other passages are whole outputs, too short for a window.
    return any(passage in text for passage in known if not _is_whole(word, passage))


def _windows(word: str, text: str) -> Iterator[str]:
    """Yield each occurrence of `word` with the neighbours before it, and with those after it as far as the text goes."""
    position = text.find(word)
    while position >= 0:
        end = position + len(word)
        if position >= NEIGHBOURS:
            yield text[position - NEIGHBOURS : end]
        yield text[position : end + NEIGHBOURS]
        position = text.find(word, position + 1)


def _is_whole(word: str, window: str) -> bool:
    """Return whether `window` is `word` with all its neighbours on one side."""
    if len(window) != len(word) + NEIGHBOURS:
        return False
    return window.startswith(word) or window.endswith(word)
