"""Conditions on the fields of JSON contents. They match more than they should: the caller checks what they find."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from memory_context.exceptions import InvalidFilterError
from memory_context.model.item import JSON
from memory_context.model.json_object import members_of
from memory_context.stores.sql.schema import Condition, memories

_FIELD = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")
# Equal values match, too: databases round numbers differently.
_LIMITS = {
    "$gt": operator.ge,
    "$gte": operator.ge,
    "$lt": operator.le,
    "$lte": operator.le,
}
_TOLERANCE = sa.literal_column("1e-12", sa.Double)  # relative
_OPERANDS = (str, int, float, sa.BindParameter)


def is_endless(value: object) -> bool:
    """Return whether *value* is infinite or NaN, which databases do not compare as Python does."""
    return isinstance(value, float) and not isfinite(value)


def may_match(name: object, wanted: object, dialect: str) -> Condition:
    """Match JSON contents whose field *name* is within limits, such as ``{"$gt": 1, "$lte": 9}``.

    A name with dots may also be the path of a nested field. Contents that the database cannot read as JSON match, too,
    and so do some values that Python could not compare. Operators other than ``$gt $gte $lt $lte`` are ignored.

    Raises:
        InvalidFilterError: The field cannot be named in SQL, or a number is infinite or NaN.
    """
    limits = members_of(wanted)
    has_endless = any(map(is_endless, limits.values()))
    if has_endless or not _FIELD.fullmatch(str(name)):
        raise InvalidFilterError(
            f"no field that a database looks for: {name!r:.80}: {wanted!r:.80}"
        )
    content = memories.c.content
    is_readable = memories.c.media_type == JSON
    # A NUL in a JSON text ends it for SQLite, and is an error for PostgreSQL.
    if dialect == "sqlite":
        is_readable &= sa.func.instr(content, r"\u0000") == 0
        is_readable &= sa.func.json_valid(content) == 1
    else:
        is_readable &= sa.func.strpos(content, r"\u0000") == 0
    steps = str(name).split(".")
    paths = list[list[str]]()
    for depth in range(len(steps)):
        # The last step of each path may contain dots.
        last = ".".join(steps[depth:])
        paths.append([*steps[:depth], last])
    within: list[Condition] = [sa.true()]
    for limit, operand in limits.items():
        compare = _LIMITS.get(limit)
        if compare and isinstance(operand, _OPERANDS):
            within.append(_limited(paths, compare, operand, dialect))
    return sa.case((is_readable, sa.and_(*within)), else_=sa.true())


def _limited(
    paths: Sequence[Sequence[str]],
    compare: Callable[[Any, Any], Condition],
    operand: Any,  # noqa: ANN401 - a value, or the bound parameter for one
    dialect: str,
) -> Condition:
    """Match contents in which the value at the first existing one of *paths* is within a limit."""
    content = memories.c.content
    is_text = isinstance(operand, str) or isinstance(getattr(operand, "type", None), sa.Text)
    is_lower_limit = compare is operator.ge
    limit = operand
    if not is_text:
        number = sa.cast(operand, sa.Double)
        margin = sa.func.abs(number) * _TOLERANCE
        limit = number - margin if is_lower_limit else number + margin
    if dialect == "sqlite":
        quoted = ['"."'.join(path) for path in paths]
        found = [sa.func.json_extract(content, f'$."{path}"') for path in quoted]
        # COALESCE needs two arguments at least.
        return compare(sa.func.coalesce(*found, sa.null()), limit)
    document = sa.cast(content, JSONB)
    if is_text:
        texts = [sa.func.jsonb_extract_path_text(document, *path) for path in paths]
        text = sa.func.coalesce(*texts, type_=sa.Text)
        return compare(text.collate("C"), limit)
    values = [sa.func.jsonb_extract_path(document, *path) for path in paths]
    value = sa.func.coalesce(*values, type_=JSONB)
    is_within = compare(value, sa.func.to_jsonb(limit, type_=JSONB))
    if is_lower_limit:
        return is_within
    # In Python True equals 1. In PostgreSQL's order of JSON it is greater than any number, so an upper limit must let
    # booleans through.
    return is_within | (sa.func.jsonb_typeof(value) == "boolean")
