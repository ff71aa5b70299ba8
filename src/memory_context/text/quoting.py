"""Quoted text that cannot end its own quotation."""

from __future__ import annotations

import regex

from memory_context.runtime import tool_descriptions_and_prompts as prompts

FRAMES = (
    prompts.RECALL_HEADER,
    prompts.FOUND_HEADER,
    prompts.RECALL_FOOTER,
    prompts.RUN_NOTES_HEADER,
    prompts.RUN_NOTES_FOOTER,
    prompts.LAYER_HEADER,
    prompts.LAYER_FOOTER,
    prompts.ASSEMBLED_HEADER,
)
MARK = "> "
_BREAKS = r"\r\n\x0b\x0c\x1c-\x1e\x85\u2028\u2029"  # those of str.splitlines
# What shows nothing: colours of terminals, and what Unicode calls control and format characters, but line breaks.
_UNSEEN = rf"(?:\x1b\[[0-?]*[ -/]*[@-~]|[[\p{{Cc}}\p{{Cf}}\u034f]--[\t{_BREAKS}]])"
_BLANK = rf"(?:[^\S{_BREAKS}]|{_UNSEEN})"


def _sentence(frame: str) -> str:
    """Return the pattern of *frame* with any blanks for its spaces, and what shows nothing between its characters."""
    words = [f"{_UNSEEN}*".join(map(regex.escape, word)) for word in frame.split()]
    return f"{_BLANK}+".join(words)


# A line that reads at its beginning as one of the sentences does.
_FRAME_LINE = regex.compile(
    rf"{_BLANK}*(?:{'|'.join(map(_sentence, FRAMES))})", regex.IGNORECASE | regex.VERSION1
)


def quoted(text: str) -> str:
    """Return `text` as it stands in a frame; lines that read like the frame's own sentences have ``> `` before them."""
    lines = text.splitlines(keepends=True)
    return "".join(f"{MARK}{line}" if _FRAME_LINE.match(line) else line for line in lines)
