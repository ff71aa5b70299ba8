"""JSON, JSON lines, Python's repr of dicts and lists: how many of what, and what each has."""

from __future__ import annotations

import json
import re
from typing import Any, TypeAlias, cast

from memory_context.text.describe.description import (
    Description,
    Kind,
    counted,
    plural,
    shortened,
    singular,
    unique_names,
)
from memory_context.text.describe.sample import Sample, count_lines_starting
from memory_context.text.literals import BEGINNING, Literal, read_literal

SAMPLED = 50
MANY = 6
_NAME_KEYS = ("id", "name", "title", "symbol", "key", "uuid", "slug", "path", "url")
_NAME_KEY = re.compile(rf"{'|'.join(_NAME_KEYS)}|.*(?:_id|[a-z]Id)")
_TOTAL_KEY = re.compile(r"(?:total_?)?(?:count|results|found|hits|items)|total", re.IGNORECASE)
_ERROR_KEYS = ("error", "errors", "error_message", "exception", "detail")
_ERROR_LEVEL = re.compile(r'"(?:error|fatal|critical)"[ ,}]', re.IGNORECASE)
_TYPE = re.compile(r"[a-z][\w-]{1,30}")
Dict: TypeAlias = dict[str, Any]


def describe_json(sample: Sample) -> Description | None:
    """Describe a text that is JSON, a repr, or objects one after the other, even if it is cut."""
    if not sample.head.lstrip().startswith(("{", "[")):
        return None
    noun = singular(sample.hint.table) or sample.hint.table
    objects = _objects_in_a_row(sample.head)
    if len(objects) > 1:
        return _describe_objects(objects, noun, sample)
    literal = read_literal(sample.text)
    if literal is None or (literal.is_cut and not literal.value):
        return None
    if isinstance(literal.value, dict):
        return _describe_object(literal, noun, sample)
    is_python = bool(literal.value) and isinstance(literal.value[0], tuple)
    return _describe_list(literal, f"{'Python' if is_python else 'JSON'} list of", noun, sample)


def _describe_object(literal: Literal, noun: str, sample: Sample) -> Description:
    """Describe an object: an error, something around a list, or a record with a name."""
    value = cast("Dict", literal.value)
    if error := _error_in(value):
        return Description(Kind.ERROR, "JSON error", (error,))
    name_key = next((key for key in value if _NAME_KEY.fullmatch(key) and _is_name(value[key])), "")
    owner, key = _largest_list(value)
    if owner and (len(owner[key]) >= MANY or not name_key):
        noun = singular(key).replace("_", " ") or noun
        listed = Literal(owner[key], literal.is_cut)
        return _describe_list(listed, "JSON:", noun, sample, total=_total_in(owner))
    facts = f"JSON object ({name_key} {shortened(value[name_key])})" if name_key else "JSON object"
    names: list[str] = []
    for key, one in value.items():
        if isinstance(one, list) and one and (noun := singular(key)):
            names.append(counted(len(cast("list[object]", one)), noun))
        elif key != name_key:
            names.append(key)
    return Description(Kind.JSON, facts, unique_names(names), is_cut=literal.is_cut)


def _objects_in_a_row(text: str) -> list[Dict]:
    """Return the objects that a text consists of, up to the first that is cut."""
    decoder = json.JSONDecoder()
    objects: list[Dict] = []
    start = re.compile(r"\s*(?=\{)").match(text)
    while start:
        try:
            value, end = decoder.raw_decode(text, start.end())
        except (ValueError, RecursionError):
            break
        objects.append(value)
        start = re.compile(r"\s*(?=\{)").match(text, end)
    return objects


def _describe_objects(objects: list[Dict], noun: str, sample: Sample) -> Description:
    """Describe JSON lines, and objects over several lines each."""
    fields = _fields_of(objects)
    count = max(len(objects), count_lines_starting(sample.text, "{"))
    if {"level", "severity", "levelname"} & objects[0].keys():
        facts = f"JSON log, {counted(count, 'line')}"
        if errors := len(_ERROR_LEVEL.findall(sample.text)):
            facts += f", {counted(errors, 'error')}"
        return Description(Kind.LOG, facts, fields)
    notation = "JSON lines," if sample.lines[0].rstrip().endswith("}") else "JSON:"
    facts = f"{notation} {counted(count, noun or _type_of(objects))}"
    return Description(Kind.JSON, facts, fields)


def _describe_list(
    literal: Literal, notation: str, noun: str, sample: Sample, total: int = 0
) -> Description:
    """Describe a list by what its first items are; `total` is how many there are elsewhere, where that is said."""
    items = cast("list[Any]", literal.value)
    sampled = items[:SAMPLED]
    about = ""
    if items and all(isinstance(item, dict) for item in sampled):
        names = _fields_of(sampled)
        noun = noun or _type_of(sampled)
    elif items and all(
        isinstance(item, list | tuple) and bool(cast("Any", item)) for item in sampled
    ):
        if isinstance(items[0][0], dict):
            names = _fields_of(items[0][:1])
            noun, about = "list", " of objects"
        else:
            names = unique_names(items[0])
            noun, about = noun or "row", f" x {counted(len(items[0]), 'column')}"
    else:
        names = tuple(shortened(item) for item in sampled if not isinstance(item, dict | list))
        noun = noun or _scalar_noun(sampled)
    if literal.is_cut and len(sample.text) > BEGINNING:
        number = f"about {counted(len(items) * len(sample.text) // BEGINNING, noun)}"
    elif literal.is_cut:
        number = f"{plural(noun)}, cut after {len(items):,}"
    elif total > len(items):
        number = f"{len(items):,} of {counted(total, noun)}"
    else:
        number = counted(len(items), noun)
    return Description(Kind.JSON, f"{notation} {number}{about}", names)


def _error_in(value: Dict) -> str:
    """Return what an object that is an error says; nothing if it is none."""
    has_failed = value.get("success") is False or value.get("status") in ("error", "failed")
    for key in (*_ERROR_KEYS, "message") if has_failed else _ERROR_KEYS:
        error = value.get(key)
        if isinstance(error, dict):
            error = cast("Dict", error).get("message")
        if error and isinstance(error, str) and (has_failed or len(value) <= 4):
            return error
    return ""


def _total_in(value: Dict) -> int:
    """Return how many there are in all, where an object says it; else 0."""
    totals = [one for key, one in value.items() if type(one) is int and _TOTAL_KEY.fullmatch(key)]
    return max(totals, default=0)


def _fields_of(records: list[Dict]) -> tuple[str, ...]:
    return unique_names(key for record in records[:5] for key in record)


def _type_of(records: list[Dict]) -> str:
    """Return the type that all records say they have; else they are objects."""
    for key in ("object", "type", "kind"):
        types = {str(record.get(key, "")).lower() for record in records}
        name = types.pop()
        if not types and _TYPE.fullmatch(name):
            return name
    return "object"


def _scalar_noun(items: list[Any]) -> str:
    if items and all(isinstance(item, str) for item in items):
        return "string"
    if items and all(type(item) in (int, float) for item in items):
        return "number"
    return "value"


def _is_name(value: object) -> bool:
    return type(value) is int or (isinstance(value, str) and value.strip() != "")


def _largest_list(value: Dict) -> tuple[Dict | None, str]:
    """Return the object with the list that makes up most of `value`, and the list's key."""
    inner: Any = value
    while isinstance(inner, dict) and inner:
        value = cast("Dict", inner)
        sizes = {key: len(str(one)) for key, one in value.items()}
        heaviest = max(sizes, key=lambda key: sizes[key])
        if sizes[heaviest] * 2 < sum(sizes.values()):
            break
        inner = value[heaviest]
        if isinstance(inner, list):
            items = cast("list[object]", inner)
            has_records = bool(items) and isinstance(items[0], dict | list)
            is_main = len(items) > 1 or len(value) <= 3
            return (value, heaviest) if has_records and is_main else (None, "")
    return None, ""
