"""Describe YAML by its top-level keys: manifests, pipelines, API specifications."""

from __future__ import annotations

import re
from itertools import chain
from typing import Any

from memory_context.model.json_object import JsonObject
from memory_context.text.describe.description import Description, Kind, counted, unique_names
from memory_context.text.describe.sample_for_describers import Sample
from memory_context.text.python_literals import is_list, is_object

# Values that are aligned with blanks, ``Status:    Running``, are written for people, not as YAML.
_ALIGNED = re.compile(r"^[\w ]+: {2,}\S", re.MULTILINE)


def describe_yaml(sample: Sample) -> Description | None:
    """Describe nested objects: the top-level keys, and how many members or items each of them has."""
    if _ALIGNED.search(sample.head):
        return None
    documents = [one for one in sample.yaml if is_object(one)]
    if not documents or all(map(_are_records, documents)):
        return None
    lines = counted(sample.line_count, "line")
    if len(documents) > 1:
        count = counted(len(documents), "document")
        names = unique_names(chain.from_iterable(documents))
        return Description(Kind.YAML, f"YAML, {count}, {lines}", names)
    [document] = documents
    names = unique_names(_with_size(key, value) for key, value in document.items())
    return Description(Kind.YAML, f"YAML, {lines}", names)


def _with_size(key: str, value: Any) -> str:  # noqa: ANN401 - whatever YAML holds
    """Return a key, with the number of members or items below it if there are several."""
    has_parts = is_list(value) or is_object(value)
    if has_parts and len(value) > 1:
        return f"{key} ({len(value):,})"
    return key


def _are_records(document: JsonObject) -> bool:
    """Return whether a document is a single key with a list of flat records, which are better described by their fields."""
    [records, *others] = document.values()
    if others or not is_list(records):
        return False
    return all(map(_is_flat, records))


def _is_flat(record: Any) -> bool:  # noqa: ANN401 - whatever YAML holds
    return is_object(record) and not any(map(is_object, record.values()))
