"""CAST that takes no text for another number: SQLite's own makes 1 of ``1,200`` and 0 of ``$5``, without a word."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any, Final

from sqlglot import Token, TokenType, tokenize
from sqlglot.errors import SqlglotError

from memory_context.exceptions import InvalidQueryError
from memory_context.text.query.numbers_and_missing_values import is_filled, is_plain_number
from memory_context.text.query.units_and_cast_advice import instead, is_cast_whole, shown, unit_of

FUNCTION: Final = "number_to_cast"
_WITHOUT_UNIT: Final = ("", 1.0)
_INSERTED = re.compile(rf"{FUNCTION}\(|,[0-9]+\)(?=\s*AS\b)", re.IGNORECASE)
_TYPE_OF_TEXTS = re.compile("CHAR|CLOB|TEXT|BLOB", re.IGNORECASE)
_TYPE_OF_TIMES = re.compile("DATE|TIME", re.IGNORECASE)


class CheckedCasts:
    """The casts of one statement to numbers, each of what `number` lets through.

    Args:
        sql: The statement.

    Attributes:
        sql: The statement, with a call of `number` in each cast.
        refusal: The first error that `number` has raised.

    Raises:
        InvalidQueryError: One is to a date, which SQLite would make a number of.
    """

    def __init__(self, sql: str) -> None:
        self.refusal: InvalidQueryError | None = None
        self._sources = list[str]()
        self._first_with_unit = dict[int, tuple[str, tuple[str, float]]]()
        self.sql = self._with_calls(sql)

    def number(self, value: Any, cast: int) -> Any:  # noqa: ANN401 - whatever stands in a cell
        """Return a value for CAST: a text as it is if that reads it whole, None for one that holds no number.

        Args:
            value: What stands in CAST.
            cast: The number of the cast in the statement.

        Raises:
            InvalidQueryError: CAST would take it for another number; or for one in another unit than texts before it.
        """
        if not isinstance(value, str):
            return value
        if not is_filled(value) or not any(map(str.isdigit, value)):
            return None
        try:
            self._check(value, cast)
        except InvalidQueryError as error:
            self.refusal = error
            raise
        return value

    def _check(self, text: str, cast: int) -> None:
        if not is_cast_whole(text):
            example, advice = instead(self._sources[cast], [text])
            raise InvalidQueryError(
                f"CAST would take {example} in {self._sources[cast]} for another number: {advice}"
            )
        unit = unit_of(text)
        # Beside 3M a 900 has another unit, a 0 has not.
        if unit is None and is_plain_number(text) and float(text):
            unit = _WITHOUT_UNIT
        if unit is not None:
            first, of_first = self._first_with_unit.setdefault(cast, (text, unit))
            if unit != of_first:
                raise InvalidQueryError(
                    f"CAST would take {shown(first)} and {shown(text)} in {self._sources[cast]} for numbers of one "
                    "unit: write a CASE with a CAST for each unit"
                )

    def _with_calls(self, sql: str) -> str:
        try:
            tokens = tokenize(sql, read="sqlite")
        except SqlglotError:
            return sql
        insertions = list[tuple[int, str]]()
        # Each parenthesis that is open, behind the word before it, with the AS in it.
        open_ = list[list[Token]]()
        for before, token in pairwise(tokens):
            if token.token_type == TokenType.L_PAREN:
                open_.append([before, token])
            elif token.token_type == TokenType.ALIAS and open_:
                open_[-1].append(token)
            elif token.token_type == TokenType.R_PAREN and open_:
                word, opening, *as_ = open_.pop()
                if as_ and _is_cast(word) and self._is_to_number(sql, opening, as_[0], token):
                    insertions.append((opening.end + 1, f"{FUNCTION}("))
                    insertions.append((as_[0].start, f",{len(self._sources) - 1})"))
        for position, text in sorted(insertions, reverse=True):
            sql = sql[:position] + text + sql[position:]
        return sql

    def _is_to_number(self, sql: str, opening: Token, as_: Token, closing: Token) -> bool:
        """Return whether a cast is to a number, and keep what stands in it.

        Raises:
            InvalidQueryError: It is to a date.
        """
        source = sql[opening.end + 1 : as_.start].strip()
        kind = sql[as_.end + 1 : closing.start].strip()
        if _TYPE_OF_TIMES.match(kind):
            raise InvalidQueryError(
                f"SQLite has no type {kind}, and would make a number of {source}: compare the text, or date({source})"
            )
        self._sources.append(source)
        return not _TYPE_OF_TEXTS.search(kind)


def as_written(name: str) -> str:
    """Return the name of a column of the answer as the statement has it."""
    return _INSERTED.sub("", name)


def _is_cast(word: Token) -> bool:
    is_word = word.token_type not in (TokenType.STRING, TokenType.IDENTIFIER)
    return is_word and word.text.upper() == "CAST"
