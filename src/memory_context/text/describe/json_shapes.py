"""Describe JSON, JSON lines, and Python's repr of dicts and lists: how many items of what kind, and their fields."""

from __future__ import annotations

import re
from typing import Any

from memory_context.model.json_object import JsonObject
from memory_context.text.describe.description import (
    Description,
    Kind,
    counted,
    plural,
    shortened,
    singular,
    unique_names,
)
from memory_context.text.describe.sample_for_describers import Sample, count_lines_starting
from memory_context.text.python_literals import (
    BEGINNING,
    Literal,
    is_object,
    objects_in,
    read_literal,
)
from memory_context.text.rows.values_as_rows import KEY, largest_records

SAMPLED = 50
MANY = 6
# The keys of members by which people tell the objects of a list apart.
_NAME_KEY = re.compile(r"id|name|title|symbol|key|uuid|slug|path|url|.*(?:_id|[a-z]Id)")
# The keys of the total number in a page of results.
_TOTAL_KEY = re.compile(r"(?:total_?)?(?:count|results|found|hits|items)|total", re.IGNORECASE)
_ERROR_KEYS = ("error", "errors", "error_message", "exception", "detail")
_ERROR_LEVEL = re.compile(r'"(?:error|fatal|critical)"[ ,}]', re.IGNORECASE)


def describe_json(sample: Sample) -> Description | None:
    """Describe a text that is JSON, a repr, or several JSON objects in sequence, even if it is cut."""
    objects, _ = objects_in(sample.head)
    if len(objects) > 1:
        return _describe_objects(objects, sample)
    literal = read_literal(sample.text)
    if literal is None:
        return None
    if literal.is_cut and not literal.value:
        return None
    if is_object(literal.value):
        return _describe_object(literal, sample)
    return _describe_list(literal, "JSON list of", "", sample)


def _describe_objects(objects: list[JsonObject], sample: Sample) -> Description:
    """Describe JSON lines, or a sequence of objects that may each have several lines."""
    fields = _fields_of(objects)
    count = max(len(objects), count_lines_starting(sample.text, "{"))
    if "level" in objects[0] or "severity" in objects[0]:
        facts = f"JSON log, {counted(count, 'line')}"
        errors = len(_ERROR_LEVEL.findall(sample.text))
        if errors:
            facts += f", {counted(errors, 'error')}"
        return Description(Kind.LOG, facts, fields)
    is_on_one_line = sample.lines[0].rstrip().endswith("}")
    notation = "JSON lines," if is_on_one_line else "JSON:"
    return Description(Kind.JSON, f"{notation} {counted(count, 'object')}", fields)


def _describe_object(literal: Literal, sample: Sample) -> Description:
    """Describe an object: as an error, as a wrapper around records, or as a record with a name."""
    value: JsonObject = literal.value
    error = _error_in(value)
    if error:
        return Description(Kind.ERROR, "JSON error", (error,))
    named = (key for key, member in value.items() if isinstance(member, str | int))
    name_key = next(filter(_NAME_KEY.fullmatch, named), "")
    found = largest_records(value, mostly=True)
    # A record with a name may hold a short list of parts; without a name, the list is what matters. Of few objects under
    # keys, the keys say more.
    is_keyed = found is not None and is_object(found.value)
    fewest = MANY if name_key or is_keyed else 0
    if found and len(found.value) >= fewest:
        is_most_of_it = found.names or 2 * found.weight >= len(str(value))
        if is_most_of_it:
            noun = singular(found.key).replace("_", " ")
            items = found.value
            if is_keyed:
                items = [{KEY: key, **member} for key, member in found.value.items()]
            records = Literal(items, literal.is_cut)
            total = _total_in(found.owner)
            return _describe_list(records, "JSON:", noun, sample, total, found.names)
    facts = "JSON object"
    if name_key:
        facts += f" ({name_key} {shortened(value[name_key])})"
    names = unique_names(key for key in value if key != name_key)
    return Description(Kind.JSON, facts, names, is_cut=literal.is_cut)


def _plain(values: list[Any]) -> list[Any]:
    return [value for value in values if not isinstance(value, dict | list)]


def _describe_list(
    literal: Literal,
    notation: str,
    noun: str,
    sample: Sample,
    total: int = 0,
    columns: tuple[str, ...] = (),
) -> Description:
    """Describe a list by its first items, or the names of its columns.

    Args:
        literal: The list.
        notation: The words before the number.
        noun: What an item is called; empty if unknown.
        sample: The text.
        total: How many items there are in all, if the list is a page of results; otherwise 0.
        columns: The names of the columns, if the object around the list has them.
    """
    items: list[Any] = literal.value
    sampled = items[:SAMPLED]
    if items and all(map(is_object, sampled)):
        names = _fields_of(sampled)
        noun = noun or "object"
    elif items and all(isinstance(item, list | tuple) for item in sampled):
        names = unique_names(columns or _plain(items[0]))
        noun = noun or "row"
    else:
        names = tuple(map(shortened, _plain(sampled)))
        noun = noun or "value"
    count = len(items)
    length = len(sample.text)
    if literal.is_cut and length > BEGINNING:
        number = f"about {counted(count * length // BEGINNING, noun)}"
    elif literal.is_cut:
        number = f"{plural(noun)}, cut after {count:,}"
    elif total > count:
        number = f"{count:,} of {counted(total, noun)}"
    else:
        number = counted(count, noun)
    return Description(Kind.JSON, f"{notation} {number}", names)


def _error_in(value: JsonObject) -> str:
    """Return the message of an object that reports an error; empty for any other object."""
    for key in _ERROR_KEYS:
        match value.get(key):
            case str(error) | {"message": str(error)} if error and len(value) <= MANY:
                return error
            case _:
                pass
    return ""


def _total_in(value: JsonObject) -> int:
    """Return the total number of items, if the object around a page of them has it; otherwise 0."""
    total = 0
    for key, number in value.items():
        if type(number) is int and _TOTAL_KEY.fullmatch(key):
            total = max(total, number)
    return total


def _fields_of(records: list[JsonObject]) -> tuple[str, ...]:
    return unique_names(key for record in records[:5] for key in record)
