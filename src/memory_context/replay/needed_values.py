"""Which values a model call needed, and whether they stood in its prompt."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

SHORTEST = 5
NEIGHBOURS = 12
_IDENTIFIER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./:@#-]{4,}")
_TELLING = re.compile(r"[0-9_/@#.]|[a-z][A-Z]")
_LOOSE = re.compile(r"""[\s"'`()\[\]{}<>,:]+""")


def identifiers(text: str) -> list[str]:
    """The strings of `text` that look like identifiers, each once, in order.

    They have five characters or more, and among them a digit, ``_``, ``/``, ``@``, ``#``, a point or a capital after a
    small letter; ``.``, ``:``, ``/`` and ``-`` at their ends are not part of them.
    """
    words = (match.group().strip(".:/-") for match in _IDENTIFIER.finditer(text))
    return list(
        dict.fromkeys(word for word in words if len(word) >= SHORTEST and _TELLING.search(word))
    )


def needed_values(reply: str, outputs: Sequence[str], others: Sequence[str]) -> list[str]:
    """The identifiers of `reply` that stand in one of the earlier `outputs`, and in none of the `others` before it."""
    return [
        value
        for value in identifiers(reply)
        if any(value in output for output in outputs)
        and not any(value in other for other in others)
    ]


def squash(text: str) -> str:
    """`text` with one space for each run of white space, quotes, brackets, commas and colons."""
    return _LOOSE.sub(" ", text)


def is_visible(value: str, outputs: Iterable[str], prompt: Sequence[str]) -> bool:
    """Whether `value` stands in `prompt` with twelve characters or more of what stood beside it in one of `outputs`.

    Twelve characters before it or behind it will do; where neither are that many, the whole output must stand there.
    A bare name is no help: it does not say what it names.

    Args:
        value: As `identifiers` gives it.
        outputs: Those that hold it, squashed.
        prompt: The texts of the prompt, squashed.
    """
    word = squash(value)
    known = passages(word, outputs)
    return any(shows(word, known, text) for text in prompt if word in text)


def passages(word: str, outputs: Iterable[str]) -> frozenset[str]:
    """What shows `word`: each place where it stands in `outputs`, with its neighbours of one side."""
    return frozenset(passage for output in outputs for passage in _passages(word, output))


def shows(word: str, known: frozenset[str], text: str) -> bool:
    """Whether one of the `known` passages of `word` stands in `text`, in time linear in the text."""
    around = (
        text[start:end] for place in _places(word, text) for start, end in _sides(place, len(word))
    )
    if any(passage in known for passage in around):
        return True
    return any(passage in text for passage in known if not _is_window(word, passage))


def _passages(word: str, output: str) -> Iterator[str]:
    for place in _places(word, output):
        inside = [(start, end) for start, end in _sides(place, len(word)) if end <= len(output)]
        yield from [output[start:end] for start, end in inside] or [output]


def _is_window(word: str, passage: str) -> bool:
    """Whether `passage` is `word` with its neighbours of one side, and not a whole output."""
    return len(passage) == len(word) + NEIGHBOURS and (
        passage.startswith(word) or passage.endswith(word)
    )


def _places(word: str, text: str) -> Iterator[int]:
    place = text.find(word)
    while place >= 0:
        yield place
        place = text.find(word, place + 1)


def _sides(place: int, length: int) -> Iterator[tuple[int, int]]:
    """Where a word of `length` at `place` stands with the neighbours before it, and with those behind it."""
    if place >= NEIGHBOURS:
        yield place - NEIGHBOURS, place + length
    yield place, place + length + NEIGHBOURS
