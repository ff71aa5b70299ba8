"""Quote stored text so that it cannot end its own quotation.

A *frame* is the pair of sentences that we put around quoted text, such as "Recalled from memory" and "end of what was
recalled".
"""

from __future__ import annotations

import regex

from memory_context import sentences_models_read as prompts

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
# What is invisible: terminal colours, and Unicode's control and format characters, except line breaks.
_UNSEEN = rf"(?:\x1b\[[0-?]*[ -/]*[@-~]|[[\p{{Cc}}\p{{Cf}}\u034f]--[\t{_BREAKS}]])"
_BLANK = rf"(?:[^\S{_BREAKS}]|{_UNSEEN})"


def _sentence(frame: str) -> str:
    """Return a pattern for *frame* with any blanks for its spaces, and invisible characters anywhere in its words."""
    words = [f"{_UNSEEN}*".join(map(regex.escape, word)) for word in frame.split()]
    return f"{_BLANK}+".join(words)


# A line that begins like one of the sentences of a frame.
_FRAME_LINE = regex.compile(
    rf"{_BLANK}*(?:{'|'.join(map(_sentence, FRAMES))})", regex.IGNORECASE | regex.VERSION1
)


def quoted(text: str) -> str:
    """Return `text` as it is put into a frame: with ``> `` before each line that reads like a frame's own sentence."""
    lines = text.splitlines(keepends=True)
    return "".join(f"{MARK}{line}" if _FRAME_LINE.match(line) else line for line in lines)
