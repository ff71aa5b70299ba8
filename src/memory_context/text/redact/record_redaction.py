"""A record without its secrets: what changes in it, and what has to be counted again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from memory_context.model.item import SECRET, Match, MemoryItem
from memory_context.model.record_json import recounted
from memory_context.text.redact import (
    Form,
    Leaves,
    Redacted,
    Redactor,
    Secret,
    cleared_json,
    is_json,
    without_pieces,
)
from memory_context.text.redact.record_fields import form_of, is_kept_tag, metadata_form

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
            content_metadata=self._metadata(item),
            category=item.category and self._text(item.category),
            tags=tuple(self._tag(item, tag) for tag in item.tags),
            match=item.match and self._match(item.match),
        )
        if not self.counts:
            return item if cleared.match == item.match else cleared
        noted = replace(cleared, content_metadata=_noted(cleared.content_metadata, self.counts))
        return noted if noted.content == item.content else recounted(noted, self.count)

    def _content(self, item: MemoryItem) -> str | bytes:
        if isinstance(item.content, bytes):
            return item.content
        redacted, self._secrets = self._structured(item, item.content) or self.redactor.cleared(
            item.content
        )
        self.counts.update(redacted.counts)
        return redacted.text

    def _structured(
        self, item: MemoryItem, content: str
    ) -> tuple[Redacted, tuple[Secret, ...]] | None:
        """What `Redactor.cleared` returns, where the content is JSON that the library wrote and a pattern may break."""
        form = form_of(item) if self.redactor.has_own else None
        if form is None:
            return None
        if form == Form():
            whole = self.redactor.cleared(content)
            return whole if is_json(whole[0].text) else cleared_json(self.redactor, content, form)
        parts = list[Redacted]()
        secrets = list[Secret]()
        for line in content.split("\n"):
            found = cleared_json(self.redactor, line, form)
            if found is None:
                return None
            parts.append(found[0])
            secrets += found[1]
        counts = sum((Counter(part.counts) for part in parts), Counter[str]())
        return Redacted("\n".join(part.text for part in parts), counts), tuple(secrets)

    def _text(self, text: str) -> str:
        redacted = self.redactor.redact(text)
        self.counts.update(redacted.counts)
        return redacted.text

    def _line(self, text: str) -> str:
        """A text that was made of the content, and may hold pieces of its secrets."""
        return without_pieces(self._text(text), self._secrets)

    def _match(self, match: Match) -> Match:
        return replace(match, passage=self._line(match.passage))

    def _tag(self, item: MemoryItem, tag: str) -> str:
        return tag if is_kept_tag(item, tag) else self._text(tag)

    def _metadata(self, item: MemoryItem) -> dict[str, Any]:
        leaves = Leaves(self.redactor, metadata_form(item))
        cleared: dict[str, Any] = leaves.value(dict(item.content_metadata))
        self.counts.update(leaves.counts)
        return cleared


def _noted(metadata: Mapping[str, Any], counts: Mapping[str, int]) -> dict[str, Any]:
    """`metadata` with what was redacted; what a caller keeps under that name stays."""
    there = metadata.get(NOTED, {})
    if not isinstance(there, dict) or not all(
        isinstance(one, int) for one in cast("dict[str, Any]", there).values()
    ):
        return dict(metadata)
    return {**metadata, NOTED: dict(Counter(cast("dict[str, int]", there)) + Counter(counts))}
