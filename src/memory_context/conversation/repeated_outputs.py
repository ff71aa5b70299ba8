"""Outputs that came before: the same one again needs one line, a nearly equal one is compared."""

from __future__ import annotations

from collections.abc import Sequence

from memory_context.conversation.fold import Folded
from memory_context.conversation.message import Message, references_of
from memory_context.memory.manager import MemoryManager
from memory_context.model.reference import leading_key
from memory_context.runtime import what_models_read as prompts
from memory_context.text.excerpt.changed_lines import MOST_CHARACTERS
from memory_context.text.excerpt.excerpt import NOTHING_SHOWN

# So many of a tool's newest outputs are compared.
COMPARED = 2


def shown_before(folded: Folded, before: Sequence[Message], manager: MemoryManager) -> Folded:
    """Return *folded* without a preview if lines of the same text stand in the messages *before*; else itself."""
    if not references_of(before).get(folded.item.memory_key):
        return folded
    text = f"{folded.item.ref.render()}\n{prompts.SHOWN_ABOVE}"
    tokens = manager.counter.count(text)
    return Folded(text, folded.item, NOTHING_SHOWN, tokens) if tokens < folded.tokens else folded


def earlier_outputs(tool: str, before: Sequence[Message], manager: MemoryManager) -> dict[str, str]:
    """Return the newest outputs of *tool* whose references stand in *before*, by their keys, the newest first.

    Raises:
        StoreError: The store failed.
    """
    keys = list[str]()
    for message in reversed(before):
        if message.role != "tool" or message.source != tool or not message.known.folded:
            continue
        key = leading_key(message.text)
        if key is not None and key not in keys:
            keys.append(key)
        if len(keys) == COMPARED:
            break
    texts = dict[str, str]()
    for key in keys:
        item = manager.memory_store.get(manager.scope, key)
        if item is not None and item.char_count <= MOST_CHARACTERS:
            texts[key] = item.text
    return texts
