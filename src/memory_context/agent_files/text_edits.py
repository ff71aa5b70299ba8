"""Edits of a text: by line numbers, or by replacing a part that occurs in it exactly once."""

from __future__ import annotations

from memory_context.exceptions import FileOperationError
from memory_context.model.checked_numbers import is_whole, shown

MOST_LISTED = 10


def lines_of(text: str) -> list[str]:
    """Return the lines of *text*. A line break at its end does not begin another line."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def numbered(text: str, view_range: tuple[int, int] | None = None) -> str:
    """Return the lines of *text*, or those of *view_range*, with their numbers.

    A range is the first and the last line, counted from 1. As the last line, -1 is the end of the text.

    Raises:
        FileOperationError: The range lies outside the text, or is not a pair of line numbers.
    """
    given: object = view_range or (1, -1)
    match given:
        case (int(first), int(last)):
            pass
        case _:
            raise FileOperationError(
                f"a range of lines is the first and the last one, such as (1, 20), not {shown(given)}"
            )
    lines = lines_of(text)
    end = len(lines)
    if last != -1:
        end = min(last, end)
    # Without a range, an empty file has nothing to show either, which is no error.
    if view_range and not 1 <= first <= end:
        raise FileOperationError(
            f"lines {first} to {last} lie outside the file, which has lines 1 to {len(lines)}"
        )
    # Six columns and a tab, the format of `cat -n`, which models know.
    chosen = enumerate(lines[first - 1 : end], first)
    return "\n".join(f"{number:>6}\t{line}" for number, line in chosen)


def replaced_once(text: str, old: str, new: str) -> tuple[str, int]:
    """Return *text* with *new* in place of the only occurrence of *old*, and the line on which that begins.

    Raises:
        FileOperationError: *old* is empty, or does not occur in *text* exactly once.
    """
    if not old:
        raise FileOperationError(
            "the text to replace is empty; give the text as it stands in the file"
        )
    offsets = _offsets(text, old)
    if not offsets:
        message = "the text to replace does not stand in the file; copy it exactly, with its spaces and line breaks"
        if "\r\n" in text:
            message += "; its lines end with \\r\\n"
        raise FileOperationError(message)
    numbers = [text.count("\n", 0, offset) + 1 for offset in offsets]
    if len(offsets) > 1:
        listed = ", ".join(map(str, numbers[:MOST_LISTED]))
        if len(numbers) > MOST_LISTED:
            listed += ", …"
        raise FileOperationError(
            f"the text to replace stands in the file more than once, at the lines {listed}; give more around it"
        )
    return text.replace(old, new), numbers[0]


def _offsets(text: str, old: str) -> list[int]:
    """Return the offsets at which *old* begins in *text*, overlaps included, but no more than a message needs."""
    offsets: list[int] = []
    start = text.find(old)
    while start >= 0 and len(offsets) <= MOST_LISTED:
        offsets.append(start)
        # From the next character on, not from the end of the match: "aa" occurs twice in "aaa", so it is not clear
        # which one to replace.
        start = text.find(old, start + 1)
    return offsets


def inserted(text: str, line: int, addition: str) -> str:
    """Return *text* with the lines of *addition* inserted after line *line*; 0 inserts them before the first line.

    Raises:
        FileOperationError: There is no such line.
    """
    lines = lines_of(text)
    if not is_whole(line):
        raise FileOperationError(f"insert_line must be an integer, not {shown(line)}")
    if not 0 <= line <= len(lines):
        raise FileOperationError(
            f"there is no line {line} to insert after; the file has {len(lines)} lines, and 0 is its beginning"
        )
    # The last line must end with a line break, or the addition would continue it.
    if text and not text.endswith("\n"):
        text += "\n"
    if not addition.endswith("\n"):
        addition += "\n"
    offset = sum(len(before) + 1 for before in lines[:line])
    return text[:offset] + addition + text[offset:]
