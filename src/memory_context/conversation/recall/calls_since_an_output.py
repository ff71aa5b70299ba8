"""Tell which calls came after an output and may have changed what it tells: a file may have been edited since it was read.

No tool is known by its name. What counts is that a later call names the same file, record or address.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable

from memory_context import sentences_models_read as prompts
from memory_context.conversation.message import Message
from memory_context.model.item import MemoryItem
from memory_context.model.tool_names import READING_TOOLS

# Of more tools, the last ones are named.
MOST_TOOLS = 3
# A path, a file, an address or an id: it has a letter, and a digit, a slash or a dot.
_THING = re.compile(
    r"""
    (?<! [\w./~\#-] ) (?= [\d./~\#-]* [^\W\d_] )
    [\w./~\#-]{0,80}? (?: [./] (?=\w) | \d ) (?: [\w./~\#-]{0,80} \w )?
    """,
    re.VERBOSE,
)


def calls_since(item: MemoryItem, messages: Iterable[Message]) -> str:
    """Return which calls after an output name the same thing as its own call did; empty if there is none.

    Of several things, it is the one that fewest calls name: in ``cd /repo && cat src/a.py``, the file.
    """
    facts = item.content_metadata
    own = _things(f"{facts.get('source')}", f"{facts.get('arguments')}")
    counts = Counter[str]()
    later = defaultdict[str, list[str]](list)
    for message in messages:
        if item.memory_key in message.keys_of_outputs:
            later.clear()
        for call in message.calls:
            if call.name not in READING_TOOLS:
                for thing in _things(call.name, call.arguments):
                    counts[thing] += 1
                    later[thing].append(call.name)
    thing = min(own, key=counts.__getitem__)
    tools = list(dict.fromkeys(later[thing]))[-MOST_TOOLS:]
    return prompts.CALLS_SINCE.format(thing=thing, tools=", ".join(tools)) if tools else ""


def _things(tool: str, arguments: str) -> Iterable[str]:
    """Return the paths, files, addresses and ids that a call names; if it names none, the call as a whole."""
    return dict.fromkeys(_THING.findall(arguments) or [f"{tool} {arguments}"])
