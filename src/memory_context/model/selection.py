"""The selection of a part of a text, and a page of what was selected."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TypeAlias

from memory_context.exceptions import InvalidSelectionError
from memory_context.model.checked_numbers import check_whole
from memory_context.model.json_object import JsonObject

Cost: TypeAlias = Callable[[str], int]
"""Counts what a text costs, in tokens or in whatever unit its budget has."""

LONGEST_EXPRESSION = 10_000
SELECTORS = ("lines", "contains", "pattern", "path", "where", "query")


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The part of a text that is asked for: the whole, or what one of the selectors selects.

    Attributes:
        lines: ``120-180``, ``500-``, ``-40`` (the last 40), ``7``; several separated by commas.
        contains: The lines that hold this text, however it is capitalised.
        pattern: The lines that hold a match of this regular expression.
        context: With `contains` and `pattern`, how many lines around each.
        path: What this JSONPath (RFC 9535) finds.
        where: The rows for which this SQL expression holds.
        columns: The columns of the rows, separated by commas; SQL expressions too. Without `where`, of all rows.
        query: The lines that are about this.

    Raises:
        InvalidSelectionError: More than one selector, or one that is not a string, is empty or is too long.
    """

    lines: str | None = None
    contains: str | None = None
    pattern: str | None = None
    context: int = 0
    path: str | None = None
    where: str | None = None
    columns: str | None = None
    query: str | None = None

    def __post_init__(self) -> None:
        """Check the types and lengths, and that at most one selector is given."""
        fields = asdict(self)
        check_whole("context", fields.pop("context"), unit=" of lines", error=InvalidSelectionError)
        for name, value in fields.items():
            if not isinstance(value, str | None):
                raise InvalidSelectionError(f"{name} must be a string, not {value!r:.80}")
            if value is not None and len(value) > LONGEST_EXPRESSION:
                raise InvalidSelectionError(
                    f"{name} has {LONGEST_EXPRESSION} characters at most, not {len(value)}"
                )
        given = self._given()
        if self.columns is not None and given not in ([], ["where"]):
            given.append("columns")
        if len(given) > 1:
            raise InvalidSelectionError(
                "give one of lines=, contains=, pattern=, path=, where= with columns=, or query=, "
                f"not {'= and '.join(given)}="
            )
        if self.context and given not in (["contains"], ["pattern"]):
            raise InvalidSelectionError("context= goes with contains= or pattern=")
        for name in ("contains", "pattern", "path", "where", "columns"):
            if fields[name] == "":
                raise InvalidSelectionError(f"{name} is empty; say what to look for")

    @property
    def selector(self) -> str:
        """Return the name of the given selector, ``whole`` without one. `columns` alone counts as ``where``."""
        if self.columns is not None:
            return "where"
        given = self._given()
        return given[0] if given else "whole"

    @property
    def arguments(self) -> JsonObject:
        """Return the arguments that were given, by name."""
        return {name: value for name, value in asdict(self).items() if value not in (None, 0)}

    def _given(self) -> list[str]:
        return [name for name in SELECTORS if getattr(self, name) is not None]


@dataclass(frozen=True, slots=True)
class Page:
    """A page of what was selected.

    Attributes:
        text: The text or lines, or JSON or CSV, depending on the selector.
        part: Which part of the whole it is, in words: ``matching lines 1-20 of 135, in 5000 lines``.
        next_offset: Where the next page begins, None after the last one.
        total: How many characters, matching lines, matches or rows were selected; `next_offset` counts the same.
    """

    text: str
    part: str
    next_offset: int | None
    total: int
