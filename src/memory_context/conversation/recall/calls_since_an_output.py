"""Tell which calls came after an output and name the file that it is about: the file may have been edited since.

No tool is known by its name. What counts is that a later call of this conversation names the same file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from memory_context import sentences_models_read as prompts
from memory_context.conversation.message import Message
from memory_context.model.item import MemoryItem
from memory_context.model.tool_names import READING_TOOLS

# Of more tools, the last ones are named.
MOST_TOOLS = 3
# The name of a file, without its folders: it ends with a dot and letters. No address of mail or of the web does count, and
# no call in code, such as `frame.head()`.
_FILE = re.compile(r"(?<![\w@.-])(?<!//)[\w-][\w.-]{0,60}\.[A-Za-z]\w{0,7}(?![\w(-]|\.\w)")


def calls_since(item: MemoryItem, messages: Sequence[Message]) -> str:
    """Return which calls after an output name a file that its own call names; empty if none does.

    Of several files, it is the one that fewest of these calls name: in ``diff old.py new.py``, not the one that all edit.
    Nor are there any for an output that did not come in this conversation, where nobody knows what came first.
    """
    later = _calls_after(item.memory_key, messages)
    files = dict.fromkeys(_FILE.findall(f"{item.content_metadata.get('arguments')}"))
    named = dict[str, list[str]]()
    for file in files:
        pattern = re.compile(rf"(?<![\w@.-]){re.escape(file)}(?![\w-])")
        tools = [tool for tool, arguments in later if pattern.search(arguments)]
        if tools:
            named[file] = tools
    if not named:
        return ""
    file = min(named, key=lambda one: len(named[one]))
    tools = list(dict.fromkeys(named[file]))[-MOST_TOOLS:]
    return prompts.CALLS_SINCE.format(file=file, tools=", ".join(tools))


def _calls_after(key: str, messages: Sequence[Message]) -> list[tuple[str, str]]:
    """Return the tools and arguments of all calls, but for those that read memory, after the last output with a key."""
    calls = list[tuple[str, str]]()
    for message in reversed(messages):
        if key in message.keys_of_outputs:
            return calls[::-1]
        for call in reversed(message.calls):
            if call.name not in READING_TOOLS:
                calls.append((call.name, call.arguments))
    return []
