"""Read the value of a configuration: of YAML or TOML, as people and tools write it.

Ordinary text often is valid YAML too, so only part of YAML is accepted here.
"""

from __future__ import annotations

import re
import tomllib
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import yaml
from yaml.constructor import ConstructorError
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from memory_context.exceptions import InvalidSelectionError
from memory_context.model.json_object import JsonObject
from memory_context.text.json_documents import plain
from memory_context.text.python_literals import REPR_AT_MOST, is_list, is_object
from memory_context.text.rows.text_table import TextTable
from memory_context.text.rows.values_as_rows import KEY, pairs_of, records_in

if TYPE_CHECKING:
    from yaml import BaseLoader
else:
    # The fast loader is missing if PyYAML was built without libyaml.
    BaseLoader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)

# The beginning of YAML: a key or an item, perhaps after comments and the mark of a document. Texts that begin otherwise
# may be valid YAML, but are in other notations.
_BEGINS_YAML = re.compile(
    r"(?:[ \t]*(?:#[^\n]*|---[^\n]*|%[^\n]*)?\n)*(?:-[ \n]|[\w\"'$./@-][^\n:]*:(?:[ \t]|$))",
    re.MULTILINE,
)
# In TOML, a list of tables, or a list or text that continues in the next line: what follows would look like other fields.
OPEN_VALUE = re.compile(
    r"^[ \t]*(?:\[\[|[\w.\"'-]+[ \t]*=[ \t]*(?:\"{3}|'{3}|\[(?:[^\n]*,[ \t]*|[^]\n]*)$))",
    re.MULTILINE,
)
_NULLS = ("", "~", "null")


def configuration_table(text: str, documents: list[Any]) -> TextTable | None:
    """Return the records in a text of YAML or TOML, or else its values under their paths; None for other texts.

    *documents* are what `yaml_documents` returns for the text, which takes seconds if it is long.
    """
    notation = "YAML"
    if not documents:
        documents = _toml_documents(text)
        notation = "TOML"
    value = documents[0] if len(documents) == 1 else documents
    objects = [value] if is_object(value) else value
    table = None
    if all(map(is_object, objects)):
        with suppress(InvalidSelectionError):  # they have more names than a table may have
            table = records_in(value, notation)
    if table and _are_records(table):
        return table
    if is_object(value):
        return pairs_of(value)
    return None


def _are_records(table: TextTable) -> bool:
    """Return whether there are at least two rows, of which half have a name in common.

    A service with one port is not a table of ports, and a person's notes, ``- Ann: at noon``, are not records.
    """
    rows = list(table.rows())
    if len(rows) < 2:
        return False
    filled = [sum(map(bool, cells)) for cells in zip(*rows, strict=True)]
    if table.columns[:1] == (KEY,):
        del filled[0]
    return 2 * max(filled, default=0) >= len(rows)


def yaml_documents(text: str) -> list[Any]:
    """Return the documents of a text of YAML up to 1 MB, with scalars as texts; empty for other texts.

    Plain lines of names and values without any nesting are not taken for YAML. Neither is a text with an alias, with a
    name that occurs twice in one object, or with a list of both objects and texts.
    """
    if len(text) > REPR_AT_MOST or not _BEGINS_YAML.match(text):
        return []
    try:
        documents = list(yaml.load_all(text, _TextLoader))
    except (yaml.YAMLError, RecursionError, ValueError):
        return []
    said = [document for document in documents if document is not None]
    if not all(map(_is_nested, said)):
        return []
    return said


def _toml_documents(text: str) -> list[Any]:
    """Return the value of TOML that has lists of tables, or values of several lines; empty for other texts."""
    if len(text) > REPR_AT_MOST or not OPEN_VALUE.search(text):
        return []
    try:
        return [plain(tomllib.loads(text))]
    except (ValueError, RecursionError):
        return []


class _TextLoader(BaseLoader):
    """Reads scalars as texts, and ignores tags."""


def _value_of(loader: Any, node: Node) -> Any:  # noqa: ANN401 - the loader has no types
    # Aliases may refer to values with more aliases, so that a few lines would become gigabytes.
    if node in loader.constructed_objects:
        raise ConstructorError(None, None, "it has an alias")
    return loader.construct_object(node, deep=True)


def _text_of(_loader: _TextLoader, node: ScalarNode) -> str | None:
    if node.value in _NULLS and not node.style:
        return None
    return str(node.value).rstrip("\n")


def _object_of(loader: _TextLoader, node: MappingNode) -> JsonObject:
    members: JsonObject = {}
    for key_node, value_node in node.value:
        key = _value_of(loader, key_node)
        if not isinstance(key, str) or key in members:
            raise ConstructorError(None, None, f"{key!r:.40} is not a name, or occurs twice")
        members[key] = _value_of(loader, value_node)
    return members


def _list_of(loader: _TextLoader, node: SequenceNode) -> list[Any]:
    items: list[Any] = [_value_of(loader, item) for item in node.value]
    if len(set(map(is_object, items))) > 1:
        raise ConstructorError(
            None, None, "some are texts and some have names, as in a person's notes"
        )
    return items


_TextLoader.add_constructor("tag:yaml.org,2002:str", _text_of)
_TextLoader.add_constructor("tag:yaml.org,2002:seq", _list_of)
_TextLoader.add_constructor("tag:yaml.org,2002:map", _object_of)


def _is_nested(value: Any) -> bool:  # noqa: ANN401 - whatever YAML holds
    """Return whether a value is a list, or an object that holds a list or another object."""
    if is_object(value):
        return any(is_list(one) or is_object(one) for one in value.values())
    return is_list(value)
