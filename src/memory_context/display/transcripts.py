"""A conversation as it stands in the prompt: its messages, their tokens, and what is folded, to be opened."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from memory_context.display.contents import text_of
from memory_context.display.html import BAR_WIDTH, Html, bar, bar_text, folded, joined, soft, tag
from memory_context.display.json_tree import CELL
from memory_context.model.reference import MemoryRef
from memory_context.model.transcript import Transcript, TranscriptEntry

SHORT_LINES = 8
SHORT_CHARACTERS = 600
FIRST, LAST = 20, 60
ROLES = {"memory": "recalled"}


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a text: what follows a reference that begins a line, with it; or what no reference stands before."""

    ref: MemoryRef | None
    text: str


def pieces_of(text: str, known: AbstractSet[str]) -> list[Piece]:
    """The pieces of a text. Only references that the conversation knows of count; others are text."""
    pieces = [Piece(None, "")]
    for line in text.splitlines(keepends=True):
        ref = _reference(line, known)
        if ref:
            pieces.append(Piece(ref, ""))
        else:
            last = pieces[-1]
            pieces[-1] = Piece(last.ref, last.text + line)
    return [piece for piece in pieces if piece.ref or piece.text.strip()]


def _reference(line: str, known: AbstractSet[str]) -> MemoryRef | None:
    """The reference that a line consists of, where it stands for a text of the store."""
    refs = MemoryRef.find_all(line) if line.startswith("[MemoryRef: ") else []
    return (
        refs[0] if len(refs) == 1 and refs[0].key in known and line.rstrip().endswith("]") else None
    )


def conversation(view: Transcript) -> Html:
    """A conversation: its totals, and its messages in a table."""
    most = max((turn.tokens for turn in view.entries), default=1)
    turns = list(view.entries)
    hidden = len(turns) - FIRST - LAST
    shown = turns if hidden <= 0 else [*turns[:FIRST], None, *turns[-LAST:]]
    rows = [_row(turn, view, most) if turn else _gap(hidden) for turn in shown]
    head = tag("div", tag("b", view.title), soft(f" {_named(view)}"), cls="head")
    body = tag("table", tag("tbody", *rows)) if rows else soft("no messages yet")
    return joined((head, _totals(view), body))


def _named(view: Transcript) -> str:
    return " · ".join(f"{name} {value}" for name, value in view.facts)


def _totals(view: Transcript) -> Html:
    """How much of everything that was said stands in the prompt, and how much in the store only."""
    prompt, stored = _prompt(view), sum(view.stored.values())
    whole = max(prompt + stored, 1)
    rows = [(bar(prompt / whole), f"{prompt:,}", f"tokens in the prompt{_of_limit(view)}")]
    if stored:
        texts = "text" if len(view.stored) == 1 else "texts"
        said = f"tokens of {len(view.stored):,} {texts} in the store, behind references"
        rows.append((bar(stored / whole), f"{stored:,}", said))
    return tag("table", tag("tbody", *(tag("tr", *_cells(*row)) for row in rows)))


def _cells(first: Html, number: str, said: str) -> Iterator[Html]:
    yield tag("td", number, cls="num")
    yield tag("td", said)
    yield tag("td", first)


def _prompt(view: Transcript) -> int:
    return sum(turn.tokens for turn in view.entries)


def _of_limit(view: Transcript) -> str:
    return f", of {view.limit:,} at most" if view.limit else ""


def _gap(count: int) -> Html:
    return tag("tr", tag("td"), tag("td", soft(f"⋯ {count:,} more messages")), tag("td"))


def _row(turn: TranscriptEntry, view: Transcript, most: int) -> Html:
    label = joined(
        (ROLES.get(turn.role, turn.role), Html("<br>"), soft(turn.name))
        if turn.name != turn.role
        else (turn.role,)
    )
    what = [
        *_calls(turn),
        *(part for text in turn.texts for part in _text(text, view)),
        *_images(turn),
    ]
    return tag(
        "tr",
        tag("td", label, cls=f"who {turn.role}"),
        tag("td", *what, cls="what"),
        tag("td", f"{turn.tokens:,}", Html("<br>"), bar(turn.tokens / max(most, 1)), cls="num"),
    )


def _calls(turn: TranscriptEntry) -> Iterator[Html]:
    if turn.is_error:
        yield tag("div", "failed", cls="error")
    for name, arguments in turn.calls:
        yield tag("div", soft("calls "), tag("code", tag("b", name), "(", _cut(arguments), ")"))


def _cut(text: str) -> str:
    return text if len(text) <= CELL else f"{text[:CELL]}… ({len(text) - CELL:,} more characters)"


def _images(turn: TranscriptEntry) -> Iterator[Html]:
    if turn.images:
        yield soft(f"{turn.images} {'image' if turn.images == 1 else 'images'}")


def _text(text: str, view: Transcript) -> Iterator[Html]:
    for piece in pieces_of(text, view.stored.keys()):
        if piece.ref:
            yield _folded(piece.ref, piece.text, view.stored[piece.ref.key])
        else:
            yield _plain(piece.text)


def _folded(ref: MemoryRef, preview: str, stored: int) -> Html:
    """A reference, and under it what the model sees of the text."""
    title = joined(
        (
            tag("code", ref.key, cls="key"),
            f" {ref.description} ",
            soft(f"· {stored:,} tokens in the store"),
        )
    )
    return folded(title, tag("pre", preview.rstrip("\n"))) if preview.strip() else tag("div", title)


def _plain(text: str) -> Html:
    """A text; a long one under its first line."""
    lines = text.strip("\n").split("\n")
    if len(lines) <= SHORT_LINES and len(text) <= SHORT_CHARACTERS:
        return tag("pre", text.strip("\n"))
    more = f"{len(lines):,} lines" if len(lines) > 1 else f"{len(text):,} characters"
    return folded(
        joined((_cut(lines[0]), " ", soft(f"· {more}"))), text_of(text.strip("\n"), len(lines))
    )


def conversation_text(view: Transcript) -> str:
    """A conversation in a terminal: a line for each message."""
    most = max((turn.tokens for turn in view.entries), default=1)
    stored = sum(view.stored.values())
    kept = f", {stored:,} in the store" if stored else ""
    head = f"{view.title} {_named(view)}: {_prompt(view):,} tokens in the prompt{_of_limit(view)}{kept}"
    return "\n".join((head, *(_line(turn, most) for turn in view.entries)))


def _line(turn: TranscriptEntry, most: int) -> str:
    calls = "; ".join(f"{name}({arguments})" for name, arguments in turn.calls)
    text = " ".join(" ".join((calls, *turn.texts)).split())
    said = text if len(text) <= CELL else f"{text[:CELL]}…"
    role, bar_ = ROLES.get(turn.role, turn.role), bar_text(turn.tokens / max(most, 1))
    return f"{role:9} {turn.tokens:>7,} {bar_:{BAR_WIDTH}} {turn.name}: {said}"
