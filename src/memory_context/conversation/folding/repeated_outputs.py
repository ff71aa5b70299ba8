"""Shorten the previews of outputs that came before: the same output again needs one line, a nearly equal one its changes."""

from __future__ import annotations

from collections.abc import Sequence

from memory_context import wording_for_models as prompts
from memory_context.conversation.folding.fold_text import Folded
from memory_context.conversation.message import Message
from memory_context.memory.manager import MemoryManager
from memory_context.model.reference import leading_key
from memory_context.text.excerpt.changed_lines import MOST_CHARACTERS
from memory_context.text.excerpt.excerpt import NOTHING_SHOWN

# A new output is compared with this many of the same tool's newest outputs.
COMPARED = 2


def shown_before(folded: Folded, before: Sequence[Message], manager: MemoryManager) -> Folded:
    """Return *folded* without a preview if the messages *before* show lines of an output with the same text.

    Lines that were recalled do not count, because they were chosen for another question.
    """
    key = folded.item.memory_key
    shown = [one for one in before if one.known.lines.get(key)]
    if not any(key in one.keys_of_outputs for one in shown):
        return folded
    text = f"{folded.item.ref.render()}\n{prompts.SHOWN_BEFORE}"
    tokens = manager.counter.count(text)
    return Folded(text, folded.item, NOTHING_SHOWN, tokens) if tokens < folded.tokens else folded


def earlier_outputs(tool: str, before: Sequence[Message], manager: MemoryManager) -> dict[str, str]:
    """Return the texts of the two newest folded outputs of *tool* in *before*, by their keys, newest first.

    Very long ones are left out.

    Raises:
        StoreError: The store failed.
    """
    outputs = [one for one in before if one.role == "tool" and one.source == tool]
    keys = [leading_key(one.text) for one in reversed(outputs) if one.known.folded]
    newest = list(dict.fromkeys(filter(None, keys)))[:COMPARED]
    items = [manager.memory_store.get(manager.scope, key) for key in newest]
    return {
        item.memory_key: item.text
        for item in items
        if item is not None and item.char_count <= MOST_CHARACTERS
    }
