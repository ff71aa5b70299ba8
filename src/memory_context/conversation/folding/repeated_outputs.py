"""Shorten the previews of repeated outputs: an equal one needs only one line, a nearly equal one only its changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from memory_context import sentences_models_read as prompts
from memory_context.conversation.folding.fold_text import Folded
from memory_context.conversation.message import Message
from memory_context.memory.manager import MemoryManager
from memory_context.model.reference import MemoryRef, leading_key
from memory_context.text.excerpt.changed_lines import MOST_CHARACTERS

# A new output is compared with this many of the same tool's newest outputs.
COMPARED = 2


def shown_before(folded: Folded, before: Sequence[Message], manager: MemoryManager) -> Folded:
    """Return *folded* without a preview if the messages *before* show lines of an output with the same text.

    Recalled lines do not count, because they were chosen for another question.
    """
    if not is_shown(folded.item.memory_key, before):
        return folded
    text = remark_of(folded.item.ref)
    tokens = manager.counter.count(text)
    if tokens >= folded.tokens:
        return folded
    return Folded(text, folded.item, (), tokens)


def is_shown(key: str, before: Iterable[Message]) -> bool:
    """Return whether one of the messages *before* is the output with this key, and shows lines of it."""
    showing = (one for one in before if one.known.lines.get(key))
    return any(key in one.keys_of_outputs for one in showing)


def remark_of(ref: MemoryRef) -> str:
    """Return the placeholder for an output that the prompt shows already."""
    return f"{ref.render()}\n{prompts.SHOWN_BEFORE}"


def repetitions_in(message: Message) -> Iterator[tuple[int, MemoryRef]]:
    """Yield the place and the reference of each text in *message* that only refers to an earlier output."""
    for place in message.known.folded:
        text = message.texts[place]
        refs = MemoryRef.find_all(text)
        if not refs:
            continue
        ref = refs[0]
        shows_lines = message.known.lines.get(ref.key)
        if not shows_lines and text.startswith(remark_of(ref)):
            yield place, ref


def earlier_outputs(tool: str, before: Sequence[Message], manager: MemoryManager) -> dict[str, str]:
    """Return the texts of the two newest folded outputs of *tool* in *before*, by their keys, newest first.

    Very long ones are left out.

    Raises:
        StoreError: The store failed.
    """
    newest = dict[str, None]()
    for message in reversed(before):
        if message.is_result and message.source == tool and message.known.folded:
            key = leading_key(message.text)
            if key:
                newest[key] = None
        if len(newest) == COMPARED:
            break
    texts = dict[str, str]()
    for key in newest:
        item = manager.memory_store.get(manager.scope, key)
        if item and item.char_count <= MOST_CHARACTERS:
            texts[key] = item.text
    return texts
