"""The verbs `show` and `forget`: one memory, read or deleted."""

from __future__ import annotations

import base64
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from memory_context.cli.listings import Place, record
from memory_context.cli.open_store import opened
from memory_context.cli.screen import confirm, counted, page, print_json, print_paged, say, screen
from memory_context.display import facts, harmless
from memory_context.exceptions import InvalidArgumentError
from memory_context.memory.manager import MemoryManager
from memory_context.model.item import MemoryItem
from memory_context.model.reference import key_in
from memory_context.model.selection import Page, Selection


@dataclass(frozen=True, slots=True)
class Shown:
    """Which part of a memory, and in which form.

    Attributes:
        selection: The part.
        offset: Where the page begins.
        max_tokens: The most that the page takes.
        output: The file that it is written to in place of standard output.
        info: Whether only what is known of the memory is printed.
        as_json: Whether as JSON.
    """

    selection: Selection
    offset: int = 0
    max_tokens: int | None = None
    output: Path | None = None
    info: bool = False
    as_json: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether everything is asked for."""
        return self.selection == Selection() and self.offset == 0 and self.max_tokens is None


def show_memory(place: Place, key: str, shown: Shown) -> None:
    """Print what is selected of a user's memory; on standard error, its reference and what part of how much it is.

    In a terminal, control characters are shown and not obeyed, and bytes are not printed; a pipe or a file gets the
    content as it is stored.

    Raises:
        MemoryNotFoundError: There is no such memory.
        NothingMatchedError: Nothing in it is what was asked for.
        MemoryContextError: The selection means nothing in this memory, or the store or the file could not do it.
    """
    with opened(place.store, place.user, "show", audit=place.audit) as memory:
        item = memory.get(key_in(key))
        if shown.info:
            _print_facts(item, as_json=shown.as_json)
            return
        read = _read(memory, item, shown)
    if shown.as_json:
        print_json(_as_json(item, read))
        return
    rest = (
        f"; the next page: --offset {read.next_offset}"
        if read and read.next_offset is not None
        else ""
    )
    say(f"{item.ref}, {read.part if read else item.text}{rest}")
    if shown.output:
        _write(shown.output, item, read if not shown.is_whole else None)
    elif sys.stdout.isatty():
        _to_terminal(read)
    else:
        _to_pipe(item, read, whole=shown.is_whole)


def _read(memory: MemoryManager, item: MemoryItem, shown: Shown) -> Page | None:
    """The page; None of bytes, which come whole."""
    if isinstance(item.content, bytes) and shown.is_whole:
        memory.read(item.memory_key)
        return None
    return memory.page(
        item.memory_key, shown.selection, offset=shown.offset, max_tokens=shown.max_tokens
    )


def _to_terminal(read: Page | None) -> None:
    if read is None:
        say("Bytes are not printed in a terminal: --output FILE, or a pipe.")
    else:
        page(harmless(read.text).removesuffix("\n") + "\n", screen().height)


def _to_pipe(item: MemoryItem, read: Page | None, *, whole: bool) -> None:
    sys.stdout.flush()
    if read is None or whole:
        sys.stdout.buffer.write(item.data)
    else:
        sys.stdout.buffer.write(_ended(read))


def _ended(part: Page) -> bytes:
    """A part as UTF-8, with a line break at its end."""
    return (part.text.removesuffix("\n") + "\n").encode("utf-8", "surrogatepass")


def _write(path: Path, item: MemoryItem, part: Page | None) -> None:
    try:
        if part is None:
            item.save_to(path)
        else:
            path.write_bytes(_ended(part))
    except OSError as error:
        message = f"the content cannot be written: {error}"
        raise InvalidArgumentError(message) from error


def _as_json(item: MemoryItem, read: Page | None) -> dict[str, object]:
    data = base64.b64encode(item.data).decode() if read is None else None
    text = (read.part, read.text, read.next_offset) if read else ("the whole", None, None)
    return {
        "memory": record(item),
        **dict(zip(("part", "text", "next_offset"), text, strict=True)),
        "data": data,
    }


def _print_facts(item: MemoryItem, *, as_json: bool) -> None:
    known = record(item) | {"content_metadata": item.content_metadata}
    if as_json:
        print_json({"memory": known})
    else:
        print_paged(facts([(name, _said(value)) for name, value in known.items()]))


def _said(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, cast("tuple[object, ...]", value)))
    return "-" if value is None else str(value)


@dataclass(frozen=True, slots=True)
class Forgetting:
    """How memories are forgotten.

    Attributes:
        reason: What references to them will say.
        soft: Whether they are only put away.
    """

    reason: str
    soft: bool


def forget_memories(
    place: Place, keys: Sequence[str], how: Forgetting, *, yes: bool, as_json: bool
) -> None:
    """Delete memories after a question; nothing at all if one of them is not there.

    Raises:
        MemoryNotFoundError: One is not there.
        InvalidArgumentError: There is nobody to ask.
    """
    with opened(place.store, place.user, "forget", audit=place.audit) as memory:
        wanted = list(dict.fromkeys(map(key_in, keys)))
        refs = [str(memory.get(key).ref) for key in wanted]
        if not yes:
            say("\n".join(refs))
        what = counted(len(refs), "memory", "memories")
        confirm(f"Put {what} away?" if how.soft else f"Delete {what} for good?", yes=yes)
        gone = [key for key in wanted if memory.forget(key, reason=how.reason, soft=how.soft)]
    if as_json:
        print_json({"forgotten": gone})
    else:
        print_paged(*(f"forgotten: {key}" for key in gone))
