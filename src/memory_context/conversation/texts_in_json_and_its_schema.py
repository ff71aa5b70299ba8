"""Read and change the texts in nested JSON values, each with the part of a JSON schema that describes it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias, cast

from memory_context.model.json_object import elements_of, members_of

Schema: TypeAlias = Mapping[str, Any]
ANY: Schema = {}


def strings_in(value: Any) -> Iterator[str]:  # noqa: ANN401 - whatever JSON holds
    """Yield every text in a JSON value, at any depth, but not the names of properties."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        waiting += members_of(value).values()
        waiting += elements_of(value)


def with_strings(
    value: Any,  # noqa: ANN401 - whatever JSON holds
    changed: Callable[[str, Schema], Any],
    schema: Schema = ANY,
) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return a copy of a JSON value with every text *changed*, at any depth, but not the names of properties.

    *changed* is called with a text and with the part of *schema* that describes its place.
    """
    match value:
        case str():
            return changed(value, schema)
        case Mapping():
            return {
                name: with_strings(one, changed, _inside(schema, name))
                for name, one in cast("Mapping[str, Any]", value).items()
            }
        case list():
            inside = _inside(schema, None)
            return [with_strings(one, changed, inside) for one in cast("list[object]", value)]
        case _:
            return value


def takes_text(schema: Schema) -> bool:
    """Return whether *schema* allows a text; True also if it names no type."""
    for option in _options(schema):
        kind = option.get("type") or "string"
        # JSON Schema takes one type or a list of them.
        if "string" in (kind, *elements_of(kind)):
            return True
    return False


def _options(schema: Schema) -> list[Schema]:
    """Return the alternatives that *schema* allows (``anyOf``, ``oneOf``); only itself if it has none."""
    options = elements_of(schema.get("anyOf")) + elements_of(schema.get("oneOf"))
    return [option for option in options if isinstance(option, Mapping)] or [schema]


def _inside(schema: Schema, name: str | None) -> Schema:
    """Return the schema of the property *name*, or for None of a list's items; {} if *schema* has none."""
    for option in _options(schema):
        if name is None:
            inner = option.get("items")
        else:
            known = members_of(option.get("properties")).get(name)
            inner = known or option.get("additionalProperties")
        if isinstance(inner, Mapping):
            return cast("Schema", inner)
    return {}
