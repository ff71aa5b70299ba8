"""Cut the JSON values that a path finds into pages: of values, or of one large value's elements, members or characters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from memory_context import sentences_models_read as prompts
from memory_context.model.selection import Cost, Page
from memory_context.text.json_documents import to_json
from memory_context.text.python_literals import is_list, is_object
from memory_context.text.read.abridged_values import LIMITS, abridged, gist
from memory_context.text.read.paging import CHARACTERS_TRIED_PER_TOKEN, fits, page_of

DEEPEST = 6


@dataclass(frozen=True, slots=True)
class FoundValues:
    """Values to page through, or the parts of one value that is too large for a page; written as JSON.

    Attributes:
        values: The values; or the elements, members or characters of one value.
        single: Whether this is the one value that the path can find, which is written by itself and not in a list.
        unit: What the parts of one value are called, such as ``members``; empty for values.
        keys: The names of the members, if the parts are members.
    """

    values: Sequence[Any]
    single: bool = False
    unit: str = ""
    keys: Sequence[str] = ()

    @property
    def total(self) -> int:
        """Return how many values or parts there are."""
        return len(self.values)

    def part(self, start: int, end: int) -> str:
        """Return a phrase that says which of the values or parts these are."""
        template = prompts.PART_VALUE if self.unit else prompts.PART_MATCHES
        first = start + 1
        return template.format(unit=self.unit, first=first, last=end, total=self.total)

    def render(self, start: int, end: int) -> str:
        """Render these parts as valid JSON: a list, an object or a string."""
        return self._written(start, self.values[start:end])

    def shorter_and_shorter(self, index: int) -> Iterator[str]:
        """Yield the value with long texts, lists and objects cut more and more, then only a note; all valid JSON."""
        if isinstance(self.values, str):
            return
        value = self.values[index]
        for limit in LIMITS:
            yield self._written(index, [abridged(value, limit, DEEPEST)])
        yield self._written(index, [gist(value)])
        yield self._written(index, [prompts.NO_ROOM])

    def _written(self, start: int, values: Sequence[Any]) -> str:
        if self.single and values:
            return to_json(values[0])
        if self.keys:
            keys = self.keys[start : start + len(values)]
            return to_json(dict(zip(keys, values, strict=True)))
        return to_json(values)


def parts_of(found: FoundValues) -> FoundValues | None:
    """Return the parts of the only value that was found; None if there are several values, or it has no parts."""
    if found.total != 1 or not found.values[0]:
        return None
    value = found.values[0]
    if is_object(value):
        return FoundValues(list(value.values()), unit="members", keys=list(value))
    if is_list(value):
        return FoundValues(value, unit="elements")
    if isinstance(value, str):
        return FoundValues(value, unit="characters")
    return None


def page_of_values(text: str, path: str, offset: int, budget: int | None, cost: Cost) -> Page:
    """Return a page of the values that `path` finds; of its parts, if there is one value and it is too large for a page.

    Raises:
        InvalidSelectionError: See `found_values` and `page_of`.
        NothingMatchedError: See `found_values`.
        SelectionTimeoutError: See `found_values`.
        BudgetTooSmallError: See `page_of`.
    """
    # Imported here, because the JSONPath library takes longer to import than most commands take to answer.
    from memory_context.text.read.jsonpath import found_values  # noqa: PLC0415

    found = found_values(text, path)
    parts = parts_of(found)
    if parts is None:
        return page_of(found, offset, budget, cost)
    is_whole = not offset
    if is_whole and budget is not None:
        # Each part has at least one character, so a value with too many parts need not be rendered to know its size.
        may_fit = parts.total <= CHARACTERS_TRIED_PER_TOKEN * budget
        is_whole = may_fit and fits(found.render(0, 1), budget, cost)
    shown = found if is_whole else parts
    return page_of(shown, offset, budget, cost)
