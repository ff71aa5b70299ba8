"""Fields of JSON contents, as far as a database can compare them: for callers that look at what it finds themselves."""

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
from memory_context.stores.sql.schema import memories

_Condition: TypeAlias = sa.ColumnElement[bool]
_Limit: TypeAlias = tuple[Callable[[Any, Any], _Condition], str]
_FIELD = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")
# How a field is compared, and how much more is let through: databases read numbers in ways of their own.
_LIMITS: dict[str, _Limit] = {
    **dict.fromkeys(("$gt", "$gte"), (operator.ge, "-1e-12")),
    **dict.fromkeys(("$lt", "$lte"), (operator.le, "1e-12")),
}


def is_endless(value: object) -> bool:
    """Return whether *value* is a number that no database compares as Python does."""
    return isinstance(value, float) and not isfinite(value)


def may_match(name: object, wanted: object, dialect: str) -> _Condition:
    """Match JSON whose field *name* is more or less than numbers or texts: ``{"$gt": 1, "$lte": 9}``.

    The field is that of this name, or one below another if it has dots. What the database cannot read is matched, too, and
    some of what Python would not compare; other operators are left out.

    Raises:
        InvalidFilterError: The field cannot be named in SQL, or a number is endless.
    """
    asked = cast("Mapping[str, object]", wanted if isinstance(wanted, Mapping) else {})
    if not _FIELD.fullmatch(str(name)) or any(map(is_endless, asked.values())):
        raise InvalidFilterError(
            f"no field that a database looks for: {name!r:.80}: {wanted!r:.80}"
        )
    content = memories.c.content
    place_of = sa.func.instr if dialect == "sqlite" else sa.func.strpos
    # SQLite takes a text with NUL for its beginning, PostgreSQL for an error.
    is_read = (memories.c.media_type == JSON) & (place_of(content, r"\u0000") == 0)
    if dialect == "sqlite":
        is_read &= sa.func.json_valid(content) == 1
    steps = str(name).split(".")
    paths = [[*steps[:depth], ".".join(steps[depth:])] for depth in range(len(steps))]
    compared = [
        _limited(paths, _LIMITS[limit], operand, dialect)
        for limit, operand in asked.items()
        if limit in _LIMITS and isinstance(operand, str | int | float | sa.BindParameter)
    ]
    return sa.case((is_read, sa.and_(sa.true(), *compared)), else_=sa.true())


def _limited(
    paths: Sequence[Sequence[str]],
    limit: _Limit,
    operand: Any,  # noqa: ANN401 - a value or its place
    dialect: str,
) -> _Condition:
    """Match contents in which what is at the first of the paths that there is keeps to a limit."""
    compare, more = limit
    is_text = isinstance(operand, str) or isinstance(getattr(operand, "type", None), sa.Text)
    number = sa.cast(operand, sa.Double)
    wider = operand if is_text else number + sa.func.abs(number) * sa.literal_column(more)
    content: sa.ColumnElement[Any] = memories.c.content
    if dialect == "sqlite":
        written = ["".join(["$", *[f'."{step}"' for step in path]]) for path in paths]
        found = [sa.func.json_extract(content, path) for path in written]
        return compare(sa.func.coalesce(*found, sa.null()), wider)
    document = sa.cast(content, JSONB)
    if is_text:
        texts = [sa.func.jsonb_extract_path_text(document, *path) for path in paths]
        return compare(sa.func.coalesce(*texts, type_=sa.Text).collate("C"), wider)
    values = [sa.func.jsonb_extract_path(document, *path) for path in paths]
    value = sa.func.coalesce(*values, type_=JSONB)
    keeps = compare(value, sa.func.to_jsonb(wider, type_=JSONB))
    # For Python True is 1, for PostgreSQL more than any number.
    return keeps if compare is operator.ge else keeps | (sa.func.jsonb_typeof(value) == "boolean")
