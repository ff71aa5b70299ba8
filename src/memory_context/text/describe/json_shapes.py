"""JSON, JSON lines, Python's repr of dicts and lists: how many of what, and what each has."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, cast

from memory_context.text.describe.kind import Kind
from memory_context.text.describe.literals import (
    READ_AT_MOST,
    Read,
    as_list,
    is_dict,
    is_list,
    read_value,
    read_whole,
)
from memory_context.text.describe.sample import Sample
from memory_context.text.describe.wording import counted, plural, short, singular, unique

SAMPLED = 50
LONG_TEXT = 400
_MANY = 6
WEIGHED_AT_MOST = 20_000
VALUES_AT_MOST = 20_000
_TYPE_KEYS = ("object", "type", "kind", "__typename", "@type", "_type", "resourceType")
_NAME_KEYS = (
    "id",
    "name",
    "title",
    "symbol",
    "key",
    "uuid",
    "slug",
    "longName",
    "shortName",
    "path",
    "url",
)
_TOTAL = re.compile(
    r"(?:total|num|nb|found|hits)?_?(?:count|results|found|hits|items|records|rows)|total|matches",
    re.IGNORECASE,
)
_ERROR_KEYS = ("error", "errors", "error_message", "errorMessage", "exception", "detail")
_TYPE_WORD = re.compile(r"[A-Za-z][\w-]{1,30}")
_ID_KEY = re.compile(r"(?:.*(?:_id|[a-z]Id))$|id$|_id$")
_LEVELS = ("level", "severity", "levelname", "lvl", "log_level")
_JSON_LINE = re.compile(r"\s*\{.*\}\s*,?\s*$")
Dict: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ObjectList(Kind):
    """A list of records: ``JSON list of 214 orders: id, customer, total``."""

    notation: str
    count: int
    noun: str
    fields: tuple[str, ...] = ()
    about: str = ""
    total: int | None = None
    is_estimate: bool = False

    @property
    def facts(self) -> str:
        """How many of what."""
        if self.cut:
            after = f", cut after {self.count:,}" if self.count > 1 else ", cut"
            return f"{self.notation} {plural(self.noun)}{after}{self.about}"
        number = counted(self.count, self.noun)
        if self.total is not None and self.total > self.count:
            number = f"{self.count:,} of {counted(self.total, self.noun)}"
        return f"{self.notation} {'about ' if self.is_estimate else ''}{number}{self.about}"

    @property
    def details(self) -> tuple[str, ...]:
        """What the records have."""
        return self.fields

    @property
    def cut_note(self) -> str:
        """Nothing: the facts say it."""
        return ""


@dataclass(frozen=True, slots=True)
class Object(Kind):
    """One record: ``JSON object (id 42): name, 3 orders``."""

    notation: str
    name: str
    keys: tuple[str, ...]
    error: str = ""
    text: tuple[str, str] = ("", "")

    @property
    def facts(self) -> str:
        """What it is called, where it says so."""
        if self.error:
            return f"{self.notation} error"
        return f"{self.notation} object{f' ({self.name})' if self.name else ''}"

    @property
    def details(self) -> tuple[str, ...]:
        """Its error, or its keys; lists with the number of what they hold."""
        return (self.error,) if self.error else self.keys


@dataclass(frozen=True, slots=True)
class JsonLog(Kind):
    """A log of which each line is an object."""

    lines: int
    errors: int
    fields: tuple[str, ...]

    @property
    def facts(self) -> str:
        """Lines and errors."""
        errors = f", {counted(self.errors, 'error')}" if self.errors else ""
        return f"JSON log, {counted(self.lines, 'line')}{errors}"

    @property
    def details(self) -> tuple[str, ...]:
        """What a line has."""
        return self.fields


def recognise_json(sample: Sample) -> Kind | None:
    """The kind of a text that is JSON, lines of JSON, or a repr, even if it is cut."""
    if sample.head.lstrip()[:1] not in ("{", "[", "("):
        return None
    lines = _json_lines(sample)
    if lines:
        return lines
    read = read_whole(sample.text)
    if read is not None:
        return _of_value(read, sample) if _says_enough(read) else None
    return _values_in_a_row(sample)


def _says_enough(read: Read) -> bool:
    """Whether a cut text has more of JSON than a bracket."""
    if not (is_list(read.value) or is_dict(read.value)):
        return False
    return bool(as_list(read.value)) or not read.cut


def _of_value(read: Read, sample: Sample) -> Kind:
    notation = "JSON" if read.is_plain else "Python"
    is_sample = read.cut and len(sample.text) > READ_AT_MOST
    kind = _kind_of(read.value, notation, _noun_of_table(sample))
    if is_sample and isinstance(kind, ObjectList):
        is_whole = sample.tail.rstrip()[-1:] in ("]", "}", ")")
        return replace(
            kind, count=_estimate(read.value, sample), is_estimate=True, cut=not is_whole
        )
    return replace(kind, cut=read.cut and not is_sample)


def _estimate(value: Any, sample: Sample) -> int:  # noqa: ANN401 - any value
    """About how many records a text has of which the beginning was read, by how often their first key comes."""
    owner, key = _dominant(cast("Dict", value)) if is_dict(value) else (None, "")
    records = as_list(owner[key] if owner else value)
    if records and is_dict(records[0]) and records[0]:
        mark = json.dumps(next(iter(cast("Dict", records[0]))))
        mark = mark if mark in sample.head else f"'{mark[1:-1]}'"
        here = max(1, sample.text[:READ_AT_MOST].count(mark))
        return sample.text.count(mark) * len(records) // here
    return len(records) * len(sample.text) // READ_AT_MOST


def _noun_of_table(sample: Sample) -> str:
    """What the rows of the queried table are."""
    return singular(sample.hint.table) or sample.hint.table


def _kind_of(value: Any, notation: str, noun: str) -> ObjectList | Object:  # noqa: ANN401 - any value
    if is_list(value):
        return _list(as_list(value), f"{notation} list of", noun)
    value = cast("Dict", value)
    if error := _error_in(value):
        return Object(notation, "", (), short(error, 70))
    name, owner, key = _name_of(value), *_dominant(value)
    records = as_list(owner[key]) if owner else []
    if owner and (len(records) >= _MANY or not name):
        kind = _list(records, f"{notation}:", _noun_of_key(key) or noun)
        under = "" if _noun_of_key(key) else f" under {short(key)}"
        return replace(kind, about=kind.about + under, total=_total(owner))
    texts = [
        (key, one)
        for key, one in list(value.items())[:100]
        if isinstance(one, str) and len(one) >= LONG_TEXT
    ]
    keys = tuple(key for key in _keys(value) if not name.startswith(f"{key} "))
    return Object(
        notation, name, keys, text=max(texts, key=lambda text: len(text[1]), default=("", ""))
    )


def _error_in(value: Dict) -> str:
    """What an object that is an error says."""
    failed = (
        value.get("success") is False
        or value.get("ok") is False
        or value.get("status") in ("error", "failed")
    )
    for key in (*_ERROR_KEYS, *(("message", "msg", "reason") if failed else ())):
        error = value.get(key)
        if is_dict(error):
            error = cast("Dict", error).get("message") or cast("Dict", error).get("code")
        if (
            error
            and isinstance(error, str)
            and (failed or len(value) <= 4 or key == next(iter(value)))
        ):
            return error
    return ""


def _list(items: list[Any], notation: str, noun: str) -> ObjectList:
    """A list by what its items are."""
    sampled = items[:SAMPLED]
    records = cast("list[Dict]", [item for item in sampled if is_dict(item) and item])
    if records and len(records) >= len(sampled) - 1 and is_dict(sampled[0]):
        fields = unique(short(key) for record in records[:5] for key in record)
        return ObjectList(notation, len(items), noun or _noun_of(records) or "object", fields)
    if items and all(
        is_list(item) and as_list(item) and is_dict(as_list(item)[0]) for item in sampled
    ):
        fields = unique(short(key) for key in cast("Dict", as_list(items[0])[0]))
        return ObjectList(notation, len(items), "list", fields, " of objects")
    if (
        items
        and all(is_list(item) for item in sampled)
        and len({len(item) for item in sampled}) == 1
    ):
        width = f" x {counted(len(items[0]), 'column')}"
        firsts = tuple(short(value) for value in as_list(items[0]))
        return ObjectList(notation, len(items), noun or "row", firsts, width)
    return ObjectList(notation, len(items), noun or _scalar_noun(sampled), tuple(_shown(sampled)))


def _shown(items: list[Any]) -> Iterator[str]:
    for item in items[:12]:
        if isinstance(item, dict | list):
            return
        yield short(item)


def _scalar_noun(items: list[Any]) -> str:
    if items and all(isinstance(item, str) for item in items):
        return "string"
    numbers = items and all(
        isinstance(item, int | float) and not isinstance(item, bool) for item in items
    )
    return "number" if numbers else "value"


def _noun_of(records: list[Dict]) -> str:
    """What the records call themselves: the type that all have."""
    for key in _TYPE_KEYS:
        types = {one if isinstance(one := record.get(key), str) else "" for record in records}
        only = next(iter(types))
        if (
            len(types) == 1
            and only
            and _TYPE_WORD.fullmatch(only)
            and only not in ("text", "object", "dict")
        ):
            return only.lower() if only.isupper() else only[0].lower() + only[1:]
    return ""


def _noun_of_key(key: str) -> str:
    """``order`` for the key ``orders``; nothing for a key that is no plural or says nothing."""
    noun = singular(key) if len(key) <= 30 and _TYPE_WORD.fullmatch(key) else None
    return (noun or "").replace("_", " ")


def _dominant(value: Dict) -> tuple[Dict | None, str]:
    """The object with the list that makes up most of `value`, and the list's key."""
    for _ in range(4):
        weights = {key: _weight(one) for key, one in list(value.items())[:100]}
        if not weights:
            break
        key = max(weights, key=lambda one: weights[one])
        largest: object = value[key]
        if weights[key] * 2 < sum(weights.values()) or not (is_list(largest) or is_dict(largest)):
            break
        if is_list(largest):
            items = as_list(largest)
            heavy = len(items) > 1 or len(value) <= 3
            return (
                (value, key)
                if heavy and items and isinstance(items[0], dict | list)
                else (None, "")
            )
        value = cast("Dict", largest)
    return None, ""


def _weight(value: Any) -> int:  # noqa: ANN401 - any value
    """About how many characters a value takes; of a large one only the beginning is weighed."""
    total, waiting = 0, [value]
    for _ in range(WEIGHED_AT_MOST):
        if not waiting:
            break
        one = waiting.pop()
        if isinstance(one, str):
            total += len(one) + 2
        elif is_dict(one):
            total += 2
            waiting.extend(list(cast("Dict", one).values())[:200])
            total += sum(len(key) + 4 for key in list(cast("Dict", one))[:200])
        elif is_list(one):
            total += 2 + len(as_list(one))
            waiting.extend(as_list(one)[:200])
        else:
            total += 4
    return total


def _total(value: Dict) -> int | None:
    """How many there are in all, where the object says it."""
    numbers: Iterator[tuple[str, int]] = (
        (key, one) for key, one in value.items() if type(one) is int
    )
    return next((one for key, one in numbers if 0 < one < 10**12 and _TOTAL.fullmatch(key)), None)


def _name_of(value: Dict) -> str:
    """What identifies an object: its id or name, with the key."""
    early = [key for key in list(value)[:6] if _ID_KEY.fullmatch(key)]
    for key in (*(key for key in _NAME_KEYS if key in value), *early):
        name = value[key]
        if (isinstance(name, int) and not isinstance(name, bool)) or (
            isinstance(name, str) and name.strip()
        ):
            return f"{key} {short(name, 30)}"
    return ""


def _keys(value: Dict) -> Iterator[str]:
    """The keys; of lists also how many they hold."""
    for key, one in list(value.items())[:30]:
        noun = singular(key) if is_list(one) else None
        size = len(as_list(one)) if is_list(one) else 0
        yield counted(size, short(noun)) if noun and size else short(key)


def _json_lines(sample: Sample) -> Kind | None:
    """Lines of which each is an object."""
    filled = sample.filled
    if len(filled) < 2 or not all(
        _JSON_LINE.match(line) or len(line) >= 1000 for line in filled[:20]
    ):
        return None
    records = [
        read.value for line in filled[:20] if (read := read_value(line)) and is_dict(read.value)
    ]
    if len(records) < min(2, len(filled[:20])) or not records[0]:
        return None
    count = starts_of_objects(sample.text)
    records = cast("list[Dict]", records)
    fields = unique(short(key) for record in records[:5] for key in record)
    if any(level in records[0] for level in _LEVELS):
        return JsonLog(count, _errors(sample.text), fields)
    return ObjectList(
        "JSON lines,", count, _noun_of_table(sample) or _noun_of(records) or "object", fields
    )


def starts_of_objects(text: str) -> int:
    """How many lines begin with a brace."""
    return text.count("\n{") + text.lstrip().startswith("{")


def _errors(text: str) -> int:
    return sum(
        len(re.findall(f'"{level}"[ ,}}]', text))
        for level in ("error", "ERROR", "fatal", "FATAL", "critical", "CRITICAL")
    )


def _values_in_a_row(sample: Sample) -> Kind | None:
    """Objects one after the other, as several parts of a result have them."""
    text, position, values, cut = sample.text[:READ_AT_MOST], 0, list[Any](), False
    while len(values) < VALUES_AT_MOST and not cut:
        read = read_value(text, position)
        if read is None or not is_dict(read.value):
            break
        values.append(cast("Dict", read.value))
        position, cut = read.end, read.cut
    if len(values) < 2 or text[position:].strip():
        return None
    kind = _list(values, "JSON:", _noun_of_table(sample))
    return replace(kind, cut=cut)
