"""Collect the records and turns that a message means, with the reason why: the terms that they hold."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from memory_context.text.excerpt.record_around_place import Record
from memory_context.text.relevance.question_terms import AskedTerm

# A reason quotes this many words.
MOST_QUOTED = 5


@dataclass(frozen=True, slots=True)
class Expansion:
    """A memory to open, and the part of it to show.

    Attributes:
        key: The key of the memory.
        query: What is wanted of it. If there is neither a query nor lines, it is what the newest message asks.
        lines: The lines to show, as ``120-180``.
        why: The reason, for people.
        records: The records or turns to show, if they are known.
        more: How many further records are meant alike, but were left out.
    """

    key: str
    query: str | None = None
    lines: str | None = None
    why: str = ""
    records: tuple[Record, ...] = ()
    more: int = 0


class MeantRecords:
    """The records that a message means, by memory.

    Args:
        terms: The terms of the message.
    """

    def __init__(self, terms: Sequence[AskedTerm]) -> None:
        self._terms = terms
        self._records = defaultdict[str, list[Record]](list)
        self._held = defaultdict[str, dict[str, None]](dict)

    @property
    def count(self) -> int:
        """Return the number of records."""
        return sum(map(len, self._records.values()))

    def add(self, key: str, record: Record, held: Iterable[int]) -> None:
        """Add a record of the memory under *key* with the terms that it holds, unless it is within one that was added."""
        records = self._records[key]
        shown = chain.from_iterable(one.body for one in records)
        if any(start <= record.start and record.stop <= stop for start, stop in shown):
            return
        records.append(record)
        self._held[key].update(dict.fromkeys(self._terms[number].text for number in held))

    def expansions(self, message: str) -> list[Expansion]:
        """Return the memories to open for *message*, with their records, both in the order in which they were added."""
        return [
            Expansion(
                key, message, why=f"{key} holds {listed(self._held[key])}", records=(*records,)
            )
            for key, records in self._records.items()
        ]


def listed(words: Iterable[str]) -> str:
    """Return the first five *words*, at least one, in quotes and as a sentence lists them: "a", "b" and "c"."""
    *most, last = [f'"{word}"' for word in words][:MOST_QUOTED]
    return f"{', '.join(most)} and {last}" if most else last
