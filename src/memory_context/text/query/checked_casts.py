"""Check the casts of a statement to numbers: SQLite's CAST makes 1 of ``1,200`` and 0 of ``$5`` without an error."""

from __future__ import annotations

import re
from typing import Any

import regex

from memory_context.exceptions import InvalidQueryError
from memory_context.text.query.number_notations_and_missing_values import is_plain_number
from memory_context.text.query.quantities_in_texts import is_cast_whole, shown, unit_of

FUNCTION = "number_to_cast"
_WITHOUT_UNIT = ("", 1.0)
_INSERTED = re.compile(rf"{FUNCTION}\(|,[0-9]+\)(?=\s*AS\b)", re.IGNORECASE)
# In these, a word means nothing: strings, quoted names and comments.
_QUOTED = r"""'(?:[^']|'')*+'|"(?:[^"]|"")*+"|`[^`]*+`|\[[^\]]*+\]|--[^\n]*+|/\*.*?\*/"""
# One of these, or a cast: what is before its first AS that is not in parentheses, and the type.
_CAST = regex.compile(
    rf"""{_QUOTED}|(?P<head>\bCAST(?:\s|/\*.*?\*/|--[^\n]*+\n)*+\()"""
    rf"""(?>(?P<source>(?P<part>(?>{_QUOTED}|\((?&part)*+\)|[^()'"`\[]))*?)(?=\bAS\b))"""
    rf"""(?P<rest>AS\s*+(?P<kind>(?:{_QUOTED}|[^()'"`\[]|\((?:{_QUOTED}|[^()'"`\[])*+\))*+)\))""",
    regex.IGNORECASE | regex.DOTALL,
)
_TYPE_OF_TEXTS = re.compile("CHAR|CLOB|TEXT|BLOB", re.IGNORECASE)
_TYPE_OF_TIMES = re.compile("DATE|TIME", re.IGNORECASE)


class CheckedCasts:
    """Passes the argument of each cast to a number in a statement through `number`, which checks it.

    Args:
        sql: The statement.

    Attributes:
        sql: The statement, with a call of `number` in each cast.

    Raises:
        InvalidQueryError: A cast is to a date, which SQLite would turn into a number.
    """

    def __init__(self, sql: str) -> None:
        self._sources = list[str]()
        self._first_with_unit = dict[int, tuple[str, tuple[str, float]]]()
        self.sql = self._with_calls(sql)

    def number(self, value: Any, cast: int) -> Any:  # noqa: ANN401 - whatever stands in a cell
        """Return the argument of a cast unchanged if CAST reads it correctly; None for a text without a number.

        Args:
            value: The argument of the cast.
            cast: The index of the cast in the statement.

        Raises:
            InvalidQueryError: CAST would read another number, or the text has another unit than those before it.
        """
        if not isinstance(value, str):
            return value
        if not any(map(str.isdigit, value)):
            return None
        if not is_cast_whole(value):
            raise InvalidQueryError(
                f"CAST would take {shown(value)} in {self._sources[cast]} for another number: "
                "leave only the number, with substr, replace or CASE"
            )
        unit = unit_of(value)
        # 900 has another unit than 3M, but 0 is the same in any unit.
        if is_plain_number(value) and float(value):
            unit = _WITHOUT_UNIT
        if unit is None:
            return value
        first, of_first = self._first_with_unit.setdefault(cast, (value, unit))
        if unit != of_first:
            raise InvalidQueryError(
                f"CAST would take {shown(first)} and {shown(value)} in {self._sources[cast]} for numbers of one "
                "unit: write a CASE with a CAST for each unit"
            )
        return value

    def _with_calls(self, sql: str) -> str:
        """Return the statement, or a part of it, with calls such as ``CAST(number_to_cast(amount,0) AS REAL)``."""
        return _CAST.sub(self._with_call, sql)

    def _with_call(self, match: regex.Match[str]) -> str:
        """Return a cast to a number with a call in it, and record the text of its argument; other matches as they are.

        Raises:
            InvalidQueryError: The cast is to a date.
        """
        source = match["source"]
        if source is None:
            return match[0]
        kind = match["kind"].strip()
        if _TYPE_OF_TIMES.match(kind):
            raise InvalidQueryError(
                f"SQLite has no type {kind}, and would turn {source.strip()} into a number: compare the text, "
                f"or date({source.strip()})"
            )
        checked = self._with_calls(source)
        if not _TYPE_OF_TEXTS.search(kind):
            cast = len(self._sources)
            self._sources.append(source.strip())
            checked = f"{FUNCTION}({checked},{cast})"
        return f"{match['head']}{checked}{match['rest']}"


def as_written(name: str) -> str:
    """Return the name of an output column as it would be without the inserted calls."""
    return _INSERTED.sub("", name)
