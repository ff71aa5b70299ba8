"""Understand the arguments of verbs as models write them: other forms of a value are accepted, not refused."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, cast

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, model_validator

from memory_context import sentences_models_read as prompts
from memory_context.model.item import in_utc
from memory_context.model.json_object import JsonObject
from memory_context.model.reference import key_in

# "120-180", "lines 120 to 180", "L120..L180", "120:180", and "120\u2013180" with an en dash.
_TWO_LINES = re.compile(r"(?:lines?|l)?\s*(\d{1,18})\s*(?:-|\u2013|:|\.\.|to)\s*l?\s*(\d{1,18})")
OTHER_NAMES = {"compartment": "tier", "id": "key", "memory_key": "key"}
MAX_HITS = 20
_AROUND_A_KEY = " `\"'[]"
_LINES_WORD = re.compile(r"^(?:lines?|l)\s*")


def plain_schema(schema: JsonObject) -> None:
    """Remove titles and empty defaults, which tell a model nothing and cost tokens at every call."""
    schema.pop("additionalProperties", None)
    for argument in schema.get("properties", {}).values():
        argument.pop("title", None)
        if not argument.get("default", True):
            del argument["default"]


def as_text(value: Any) -> Any:  # noqa: ANN401 - whatever a model writes
    """Return an object or a list as JSON text, and anything else as it is."""
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    return value


def as_offset(value: Any) -> Any:  # noqa: ANN401 - whatever a model writes
    """Return a number, limited to the range from 0 to the largest size of a sequence; 0 for an empty value."""
    if isinstance(value, int):
        return min(max(0, value), sys.maxsize)
    return value or 0


def as_limit(value: int) -> int:
    """Return a number of hits, limited to the range from 1 to 20."""
    return min(max(value, 1), MAX_HITS)


def as_key(value: Any) -> Any:  # noqa: ANN401 - whatever a model writes
    """Return a key from ``key``, ``[key]``, ``'key'``, or a reference with or without its brackets."""
    if not isinstance(value, str):
        return value
    bare = value.strip(_AROUND_A_KEY)
    # `strip` removed the brackets of a reference as well.
    if bare.startswith("MemoryRef:"):
        value = f"[{bare}]"
    return key_in(value).strip(_AROUND_A_KEY)


def as_lines(value: Any) -> str:  # noqa: ANN401 - whatever a model writes
    """Return a range of lines in the form of `parse_ranges`, even from 120, [120, 180] or "L120 to L180"."""
    if isinstance(value, list | tuple):
        parts = [str(part) for part in cast("Sequence[Any]", value)]
        separator = ","
        if len(parts) == 2 and all(part.isdigit() for part in parts):
            separator = "-"
        value = separator.join(parts)
    text = str(value).strip().lower()
    if text in ("all", "none", "null"):
        return ""
    if match := _TWO_LINES.fullmatch(text):
        # Models sometimes count lines from 0, so line 0 becomes 1.
        return f"{max(1, int(match[1]))}-{match[2]}"
    return _LINES_WORD.sub("", text)


def as_moment(text: str, *, end: bool = False) -> datetime | None:
    """Return the point in time that *text* names, in UTC if it has no time zone; None if it is empty.

    A day means its beginning; with *end*, its end.

    Raises:
        ValueError: It is not a date or time.
    """
    text = text.strip()
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(prompts.NO_MOMENT) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    later = timedelta()
    if end and len(text) == len("2026-01-31"):
        later = timedelta(days=1)
    return in_utc(moment, later)


def as_tier(value: Any) -> Any:  # noqa: ANN401 - whatever a model writes
    """Return the name of a tier in lower case."""
    if isinstance(value, str):
        return value.strip().lower()
    return value


def as_tags(value: Any) -> Any:  # noqa: ANN401 - whatever a model writes
    """Return a list of the words in a text that separates them by commas; anything else as it is."""
    if not isinstance(value, str):
        return value
    words = [word.strip() for word in value.split(",")]
    return list(filter(None, words))


Text = Annotated[str, BeforeValidator(as_text)]
Offset = Annotated[int, BeforeValidator(as_offset)]
Limit = Annotated[int, AfterValidator(as_limit)]
Key = Annotated[str, BeforeValidator(as_key)]
Lines = Annotated[str, BeforeValidator(as_lines)]
Tier = Annotated[str, BeforeValidator(as_tier)]
Tags = Annotated[list[str], BeforeValidator(as_tags)]


class LenientArgs(BaseModel):
    """Arguments whose schema contains no more than a model needs. A null argument counts as not given.

    An unknown argument is an error, because ignoring it silently would change the meaning of the call.
    """

    model_config = ConfigDict(json_schema_extra=plain_schema, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _as_named(cls, values: Any) -> Any:  # noqa: ANN401 - whatever a model writes
        """Rename arguments that have one of `OTHER_NAMES`, and leave out those that are null."""
        if not isinstance(values, Mapping):
            return values
        arguments = cast("Mapping[str, Any]", values)
        given = {name: value for name, value in arguments.items() if value is not None}
        for other_name, name in OTHER_NAMES.items():
            if other_name in given and name in cls.model_fields:
                given.setdefault(name, given.pop(other_name))
        return given
