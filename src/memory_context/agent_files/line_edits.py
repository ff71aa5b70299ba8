"""Edits of a text by its lines and by what stands in it."""

from __future__ import annotations

from memory_context.exceptions import FileOperationError

MOST_PLACES = 10


def lines_of(text: str) -> list[str]:
    """The lines of `text`; a line break at its end does not begin another one."""
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]


def numbered(text: str, view_range: tuple[int, int] | None = None) -> str:
    """The lines of `text` with their numbers, or those of `view_range` (from 1; the last one -1: to the end).

    Raises:
        FileOperationError: The range lies outside the text.
    """
    lines = lines_of(text)
    first, last = _range(view_range, len(lines)) if view_range else (1, len(lines))
    return "\n".join(
        f"{number:>6}\t{line}" for number, line in enumerate(lines[first - 1 : last], first)
    )


def _range(view_range: tuple[int, int], count: int) -> tuple[int, int]:
    first, last = view_range
    end = count if last == -1 else min(last, count)
    if not 1 <= first <= end:
        message = (
            f"the lines {first} to {last} lie outside the file, which has the lines 1 to {count}"
        )
        raise FileOperationError(message)
    return first, end


def replaced_once(text: str, old: str, new: str) -> tuple[str, int]:
    """`text` with `new` in place of the one `old` in it, and the line where that stood.

    Raises:
        FileOperationError: `old` is empty, does not stand in `text`, or stands there more than once.
    """
    places = _places(text, old) if old else []
    if len(places) != 1:
        raise FileOperationError(_not_once(text, old, places))
    return text[: places[0]] + new + text[places[0] + len(old) :], _line(text, places[0])


def _places(text: str, old: str) -> list[int]:
    """Where `old` begins in `text`, also where two overlap; no more than are told."""
    places, start = list[int](), text.find(old)
    while start >= 0 and len(places) <= MOST_PLACES:
        places.append(start)
        start = text.find(old, start + 1)
    return places


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def _not_once(text: str, old: str, places: list[int]) -> str:
    if not old:
        return "the text to replace is empty; give the text as it stands in the file"
    if not places:
        ends = "; its lines end with \\r\\n" if "\r\n" in text else ""
        return f"the text to replace does not stand in the file; copy it exactly, with its spaces and line breaks{ends}"
    lines = ", ".join(str(_line(text, place)) for place in places[:MOST_PLACES])
    more = ", …" if len(places) > MOST_PLACES else ""
    return f"the text to replace stands in the file more than once, at the lines {lines}{more}; give more around it"


def inserted(text: str, line: int, addition: str) -> str:
    """`text` with the lines of `addition` after line `line` (0: before the first).

    Raises:
        FileOperationError: There is no such line.
    """
    lines = lines_of(text)
    if not 0 <= line <= len(lines):
        message = f"there is no line {line} to insert after; the file has {len(lines)} lines, and 0 is its beginning"
        raise FileOperationError(message)
    ended = text if not text or text.endswith("\n") else text + "\n"
    place = sum(len(one) + 1 for one in lines[:line])
    return (
        ended[:place] + (addition if addition.endswith("\n") else addition + "\n") + ended[place:]
    )
