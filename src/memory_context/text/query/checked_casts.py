"""Check the casts of a statement to numbers: SQLite's CAST makes 1 of ``1,200`` and 0 of ``$5`` without an error."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

from sqlglot import Token, TokenType, tokenize

from memory_context.exceptions import InvalidQueryError
from memory_context.text.query.number_notations_and_missing_values import is_plain_number
from memory_context.text.query.quantities_in_texts import is_cast_whole, shown, unit_of

FUNCTION = "number_to_cast"
_WITHOUT_UNIT = ("", 1.0)
_INSERTED = re.compile(rf"{FUNCTION}\(|,[0-9]+\)(?=\s*AS\b)", re.IGNORECASE)
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
        """Return the statement with calls such as ``CAST(number_to_cast(amount,0) AS REAL)``."""
        insertions = list[tuple[int, str]]()
        # For each open parenthesis: the token before it, itself, and the AS tokens in it.
        open_ = list[list[Token]]()
        for before, token in pairwise(tokenize(sql, read="sqlite")):
            kind = token.token_type
            if kind == TokenType.L_PAREN:
                open_.append([before, token])
            elif kind == TokenType.ALIAS and open_:
                open_[-1].append(token)
            elif kind == TokenType.R_PAREN and open_:
                word, opening, *as_ = open_.pop()
                if not as_ or not _is_cast(word):
                    continue
                first_as = as_[0]
                if self._is_to_number(sql, opening, first_as, token):
                    cast = len(self._sources) - 1
                    insertions.append((opening.end + 1, f"{FUNCTION}("))
                    insertions.append((first_as.start, f",{cast})"))
        # From the end, so that the positions before stay right.
        for position, text in sorted(insertions, reverse=True):
            sql = sql[:position] + text + sql[position:]
        return sql

    def _is_to_number(self, sql: str, opening: Token, as_: Token, closing: Token) -> bool:
        """Return whether a cast is to a number, and record the text of its argument.

        Raises:
            InvalidQueryError: The cast is to a date.
        """
        source = sql[opening.end + 1 : as_.start].strip()
        kind = sql[as_.end + 1 : closing.start].strip()
        if _TYPE_OF_TIMES.match(kind):
            raise InvalidQueryError(
                f"SQLite has no type {kind}, and would turn {source} into a number: compare the text, or date({source})"
            )
        self._sources.append(source)
        return not _TYPE_OF_TEXTS.search(kind)


def as_written(name: str) -> str:
    """Return the name of an output column as it would be without the inserted calls."""
    return _INSERTED.sub("", name)


def _is_cast(word: Token) -> bool:
    is_word = word.token_type not in (TokenType.STRING, TokenType.IDENTIFIER)
    return is_word and word.text.upper() == "CAST"
