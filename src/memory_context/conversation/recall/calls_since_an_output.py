"""Tell which calls came after an output and name the file that it is about: the file may have been edited since.

No tool is known by its name. What counts is that a later call of this conversation has the same path as an argument.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from memory_context import sentences_models_read as prompts
from memory_context.conversation.message import Message
from memory_context.model.item import MemoryItem
from memory_context.model.tool_names import READING_TOOLS
from memory_context.text.json_documents import parse
from memory_context.text.python_literals import is_object

# Of more tools, the last ones are named.
MOST_TOOLS = 3
LONGEST_PATH = 120
# The name of an argument that may be a path: `path`, `file_path`, `filename`, `target_file`.
_NAMES_FILE = re.compile(r"(?i)path|file")
# A path has a dot or a slash, and a file's content is not on one line.
_PATH = re.compile(r"[^\n./\\]*[./\\][^\n]*")


def calls_since(item: MemoryItem, messages: Sequence[Message]) -> str:
    """Return which calls after an output have the path of its own call as an argument; empty if none has.

    Nor are there any for an output that did not come in this conversation, where nobody knows what came first.
    """
    own = _paths(f"{item.content_metadata.get('arguments')}")
    if not own:
        return ""
    tools = dict[str, None]()
    for message in reversed(messages):
        if item.memory_key in message.keys_of_outputs:
            break
        for call in message.calls:
            if call.name not in READING_TOOLS and own & _paths(call.arguments):
                tools[call.name] = None
    else:
        return ""
    if not tools:
        return ""
    named = list(tools)[:MOST_TOOLS]
    return prompts.CALLS_SINCE.format(file=", ".join(sorted(own)), tools=", ".join(named[::-1]))


def _paths(arguments: str) -> set[str]:
    """Return the paths among the arguments of a call."""
    value = parse(arguments)
    if not is_object(value):
        return set()
    paths = set[str]()
    for name, argument in value.items():
        if _NAMES_FILE.search(name) and isinstance(argument, str):
            path = argument.removeprefix("./")
            if len(path) <= LONGEST_PATH and _PATH.fullmatch(path):
                paths.add(path)
    return paths
