"""Conditions on the fields of JSON contents. They match more than they should: the caller checks what they find."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any, TypeAlias, cast

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from memory_context.exceptions import InvalidFilterError
from memory_context.model.item import JSON
from memory_context.stores.sql.schema import Condition, memories

_Limit: TypeAlias = tuple[Callable[[Any, Any], Condition], str]
_FIELD = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")
# For each operator, the comparison, and the relative tolerance, because databases round numbers differently.
_LIMITS: dict[str, _Limit] = {
    **dict.fromkeys(("$gt", "$gte"), (operator.ge, "-1e-12")),
    **dict.fromkeys(("$lt", "$lte"), (operator.le, "1e-12")),
}


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
    limits = cast("Mapping[str, object]", wanted if isinstance(wanted, Mapping) else {})
    if not _FIELD.fullmatch(str(name)) or any(map(is_endless, limits.values())):
        raise InvalidFilterError(
            f"no field that a database looks for: {name!r:.80}: {wanted!r:.80}"
        )
    content = memories.c.content
    position_of = sa.func.instr if dialect == "sqlite" else sa.func.strpos
    # A NUL in a JSON text ends it for SQLite, and is an error for PostgreSQL.
    is_readable = (memories.c.media_type == JSON) & (position_of(content, r"\u0000") == 0)
    if dialect == "sqlite":
        is_readable &= sa.func.json_valid(content) == 1
    steps = str(name).split(".")
    paths = [[*steps[:depth], ".".join(steps[depth:])] for depth in range(len(steps))]
    compared = [
        _limited(paths, _LIMITS[limit], operand, dialect)
        for limit, operand in limits.items()
        if limit in _LIMITS and isinstance(operand, str | int | float | sa.BindParameter)
    ]
    return sa.case((is_readable, sa.and_(sa.true(), *compared)), else_=sa.true())


def _limited(
    paths: Sequence[Sequence[str]],
    limit: _Limit,
    operand: Any,  # noqa: ANN401 - a value, or the bound parameter for one
    dialect: str,
) -> Condition:
    """Match contents in which the value at the first existing one of *paths* is within a limit."""
    compare, tolerance = limit
    is_text = isinstance(operand, str) or isinstance(getattr(operand, "type", None), sa.Text)
    number = sa.cast(operand, sa.Double)
    wider = operand if is_text else number + sa.func.abs(number) * sa.literal_column(tolerance)
    content: sa.ColumnElement[Any] = memories.c.content
    if dialect == "sqlite":
        json_paths = ["".join(["$", *[f'."{step}"' for step in path]]) for path in paths]
        found = [sa.func.json_extract(content, path) for path in json_paths]
        return compare(sa.func.coalesce(*found, sa.null()), wider)
    document = sa.cast(content, JSONB)
    if is_text:
        texts = [sa.func.jsonb_extract_path_text(document, *path) for path in paths]
        return compare(sa.func.coalesce(*texts, type_=sa.Text).collate("C"), wider)
    values = [sa.func.jsonb_extract_path(document, *path) for path in paths]
    value = sa.func.coalesce(*values, type_=JSONB)
    is_within = compare(value, sa.func.to_jsonb(wider, type_=JSONB))
    # In Python True equals 1. In PostgreSQL's order of JSON it is greater than any number, so an upper limit must let
    # booleans through.
    return (
        is_within
        if compare is operator.ge
        else is_within | (sa.func.jsonb_typeof(value) == "boolean")
    )
