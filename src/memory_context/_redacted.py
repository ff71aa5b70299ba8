"""A record without its secrets: what changes in it, and what has to be counted again."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from memory_context._items import SECRET, Match, MemoryItem
from memory_context._records import recounted
from memory_context._redaction import Redactor, Secret, without_pieces

NOTED = "redacted"


@dataclass(slots=True)
class Clearing:
    """Takes the secrets out of one record.

    Attributes:
        redactor: What finds them.
        count: Counts the tokens of a text.
        counts: How many were taken out, by kind.
    """

    redactor: Redactor
    count: Callable[[str], int]
    counts: Counter[str] = field(default_factory=Counter[str])
    _secrets: tuple[Secret, ...] = ()

    def of(self, item: MemoryItem) -> MemoryItem:
        """`item` without secrets; itself if there are none, and if it is a memory of type ``secret``.

        Where the content is another then, so are its tokens, characters, lines and hash, and an `identity`.
        """
        if item.memory_type == SECRET:
            return item
        cleared = replace(
            item,
            content=self._content(item),
            summary=self._line(item.summary),
            content_metadata=self._object(item.content_metadata),
            category=item.category and self._text(item.category),
            tags=tuple(map(self._text, item.tags)),
            match=item.match and self._match(item.match),
        )
        if not self.counts:
            return item if cleared.match == item.match else cleared
        noted = replace(cleared, content_metadata=_noted(cleared.content_metadata, self.counts))
        return noted if noted.content == item.content else recounted(noted, self.count)

    def _content(self, item: MemoryItem) -> str | bytes:
        if isinstance(item.content, bytes):
            return item.content
        redacted, self._secrets = self.redactor.cleared(item.content)
        self.counts.update(redacted.counts)
        return redacted.text

    def _text(self, text: str) -> str:
        redacted = self.redactor.redact(text)
        self.counts.update(redacted.counts)
        return redacted.text

    def _line(self, text: str) -> str:
        """A text that was made of the content, and may hold pieces of its secrets."""
        return without_pieces(self._text(text), self._secrets).text

    def _match(self, match: Match) -> Match:
        return replace(match, passage=self._line(match.passage))

    def _object(self, values: Mapping[str, Any]) -> dict[str, Any]:
        cleared = dict[str, Any]()
        for key, value in values.items():
            name = self._text(key)
            cleared[_free(name, cleared)] = self._value(value, key)
        return cleared

    def _value(self, value: Any, name: str) -> Any:  # noqa: ANN401 - whatever JSON holds
        if isinstance(value, str):
            return self._named(self._text(value), name)
        if isinstance(value, dict):
            return self._object(cast("dict[str, Any]", value))
        if isinstance(value, list):
            return [self._value(one, name) for one in cast("Iterable[Any]", value)]
        return value

    def _named(self, value: str, name: str) -> str:
        """A value that may be a secret because of its name only."""
        redacted = self.redactor.redact(json.dumps({name: value}, ensure_ascii=False))
        if not redacted.counts:
            return value
        try:
            [changed] = json.loads(redacted.text).values()
        except ValueError:  # a user's pattern took a quote
            return value
        self.counts.update(redacted.counts)
        return str(changed)


def _free(name: str, taken: Mapping[str, Any]) -> str:
    """`name`, with a number if another one became the same."""
    return next(one for one in (name, *(f"{name} {number}" for number in range(2, len(taken) + 3))) if one not in taken)


def _noted(metadata: Mapping[str, Any], counts: Mapping[str, int]) -> dict[str, Any]:
    """`metadata` with what was redacted; what a caller keeps under that name stays."""
    there = metadata.get(NOTED, {})
    if not isinstance(there, dict) or not all(isinstance(one, int) for one in cast("dict[str, Any]", there).values()):
        return dict(metadata)
    return {**metadata, NOTED: dict(Counter(cast("dict[str, int]", there)) + Counter(counts))}
