"""Outputs that came before: the same one again needs one line."""

from __future__ import annotations

from collections.abc import Sequence

from memory_context.conversation.fold import Folded
from memory_context.conversation.message import Message, references_of
from memory_context.memory.manager import MemoryManager
from memory_context.runtime import tool_descriptions_and_prompts as prompts
from memory_context.text.excerpt.excerpt import Excerpt


def shown_before(folded: Folded, before: Sequence[Message], manager: MemoryManager) -> Folded:
    """Return *folded* without a preview if lines of the same text stand in the messages *before*; else itself."""
    if not references_of(before).get(folded.item.memory_key):
        return folded
    text = f"{folded.item.ref.render()}\n{prompts.SHOWN_ABOVE}"
    tokens = manager.counter.count(text)
    return Folded(text, folded.item, Excerpt(""), tokens) if tokens < folded.tokens else folded
