"""Quoted text that cannot end its own quotation."""

from __future__ import annotations

import regex

from memory_context import wording_for_models as prompts
from memory_context.model.reference import MemoryRef, without_references

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


# Below such a line stands a mail that is passed on or answered.
_FORWARDED = regex.compile(
    r"\s*(?:-{2,} ?(?:Original|Forwarded) message|Begin forwarded message:"
    r"|(?:On|Am|Le) .*(?:wrote|schrieb.*|écrit) ?:\s*$|(?:From|Von|De): .*@)",
    regex.IGNORECASE,
)
_QUOTED_LINE = regex.compile(r"\s*(?:>|\uff1e|&gt;)")
_FENCE = regex.compile(r"\s*(?:```|~~~)")
_IN_MARKS = regex.compile(r'"[^"\n]*"|“[^”]*”|„[^“”]*[“”]|«[^»]*»')


def without_quotations(text: str) -> str:
    """Return the words of *text* that are its writer's own, as far as its form shows it.

    Left out are quoted lines with what follows them up to a blank line, fenced blocks, mails that are passed on, and
    what stands in quotation marks, unless that is a reference alone.
    """
    own = list[str]()
    is_quoted = is_fenced = False
    # Not splitlines: a mail program marks the lines that it sees, and a break of another kind would end the mark.
    for line in text.split("\n"):
        if _FORWARDED.match(line):
            break
        if _FENCE.match(line):
            is_fenced = not is_fenced
            continue
        is_quoted = bool(_QUOTED_LINE.match(line)) or (is_quoted and line.strip() != "")
        if not is_quoted and not is_fenced:
            own.append(line)
    return _IN_MARKS.sub(_alone, "\n".join(own))


def _alone(quotation: regex.Match[str]) -> str:
    """Return a quotation of nothing but a reference; of any other one nothing."""
    inside = quotation[0][1:-1]
    return "" if MemoryRef.find_all(inside) and without_references(inside).strip() else quotation[0]
