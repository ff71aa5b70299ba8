"""Describe YAML by its top-level keys: manifests, pipelines, API specifications."""

from __future__ import annotations

import re
from itertools import chain

from memory_context.model.json_object import JsonObject
from memory_context.text.describe.description import Description, Kind, counted, unique_names
from memory_context.text.describe.sample import Sample
from memory_context.text.python_literals import is_list, is_object
from memory_context.text.rows.configuration_values import yaml_documents

# Values that are aligned with blanks are written for people, and not YAML: ``Status:    Running``.
_ALIGNED = re.compile(r"^[\w ]+: {2,}\S", re.MULTILINE)


def describe_yaml(sample: Sample) -> Description | None:
    """Describe nested objects: the top-level keys, and how many members or items each of them has."""
    if _ALIGNED.search(sample.head):
        return None
    documents = [one for one in yaml_documents(sample.text) if is_object(one)]
    if not documents or all(map(_are_records, documents)):
        return None
    lines = counted(sample.line_count, "line")
    if len(documents) > 1:
        facts = f"YAML, {counted(len(documents), 'document')}, {lines}"
        return Description(Kind.YAML, facts, unique_names(chain.from_iterable(documents)))
    names = list[str]()
    for key, value in documents[0].items():
        if (is_list(value) or is_object(value)) and len(value) > 1:
            names.append(f"{key} ({len(value):,})")
        else:
            names.append(key)
    return Description(Kind.YAML, f"YAML, {lines}", unique_names(names))


def _are_records(document: JsonObject) -> bool:
    """Return whether a document is a single key with a list of flat records, which their fields describe better."""
    [value, *others] = document.values()
    if others or not is_list(value):
        return False
    return all(is_object(one) and not any(map(is_object, one.values())) for one in value)
