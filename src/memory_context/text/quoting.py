"""Quoted text that cannot end its own quotation."""

from __future__ import annotations

import re

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
_SENTENCE = "|".join(map(re.escape, FRAMES))
# A line that begins, behind spaces, as one of the sentences does.
_FRAME_LINE = re.compile(
    rf"(?:^|(?<=[{_BREAKS}]))(?=[^\S{_BREAKS}]*(?:{_SENTENCE}))", re.IGNORECASE
)


def quoted(text: str) -> str:
    """Return `text` as it stands in a frame; lines that read like the frame's own sentences have ``> `` before them."""
    return _FRAME_LINE.sub(MARK, text)
