"""A memory, or a part of it, printed for a person or a pipe."""

from __future__ import annotations

import sys

import typer

from memory_context._refs import MemoryRef
from memory_context._selection import Selection
from memory_context.display import harmless
from memory_context.manager import MemoryManager


def show_memory(store: str, user: str, key: str, selection: Selection, max_tokens: int | None) -> None:
    """Print what is selected of a user's memory; on standard error, its reference and what part of how much it is.

    In a terminal, control characters are shown and not obeyed; a pipe gets the text as it is stored.

    Raises:
        MemoryNotFoundError: There is no such memory.
        NothingMatchedError: Nothing in it is what was asked for.
        MemoryContextError: The selection means nothing in this memory, or the store could not do it.
    """
    refs = MemoryRef.find_all(key)
    with MemoryManager(store, user_id=user) as memory:
        item = memory.read(refs[0].key if refs else key)
        if isinstance(item.content, bytes) and selection == Selection():
            sys.stdout.buffer.write(item.content)
            return
        page = memory.page(item.memory_key, selection, max_tokens=max_tokens)
    typer.echo(harmless(f"{item.ref}, {page.part}"), err=True)
    sys.stdout.write((harmless(page.text) if sys.stdout.isatty() else page.text) + "\n")
