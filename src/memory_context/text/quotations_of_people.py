"""What a person quotes in a message: mails, marked lines, fences, quotation marks. References in it are not their own."""

from __future__ import annotations

from textwrap import dedent

import regex

from memory_context.model.reference import MemoryRef, without_references

_ADDRESS = r"<\s{0,4}[^\s<>@]{1,64}@[^\s<>]{1,255}\s{0,4}>"
_COLON_ENDS = r"[:\uff1a][^\S\n]*$"
_MARKS = "[ \\t*_•-]*"
_LABEL = rf"{_MARKS}\p{{L}}[\p{{L}} '-]{{0,30}}+[*_]*\s?[:\uff1a]"
# The line above a forwarded or answered mail, recognised by its form in most languages.
_MAIL = regex.compile(
    # 5 Jan 2026, Eve <eve@example.org> wrote: - a line break may be in the address, or after it
    rf"^(?=(?:.*<[^\S\n]*\n)?.*{_COLON_ENDS})[^\n<]*{_ADDRESS}"
    rf"|^(?=[^\n<]*\d)(?=.*\n[^\n]{{1,40}}{_COLON_ENDS})[^\n<]*{_ADDRESS}[^\S\n]*$"
    # From: Eve <eve@example.org> - but not "To:", with which a person may begin a mail to be sent
    rf"|^(?!{_MARKS}(?:to|cc|bcc|an|à|para)\b){_LABEL}[^\n<]*{_ADDRESS}\W*$"
    # -----Original Message-----, or the long line of Outlook
    rf"|^[^\S\n]*(?:-{{5,}}[^\S\n]*\p{{L}}.*-{{5,}}|_{{10,}})\s*\n{_LABEL}"
    # What the forms above do not match: no address, or one without brackets
    r"|^[^\S\n]*(?:-{2,} ?(?:Original|Forwarded) message|Begin forwarded message:)"
    r"|^[^\S\n]*(?:On|Am|Le) .*(?:wrote|schrieb.*|écrit) ?:[^\S\n]*$"
    rf"|^{_MARKS}(?:From|Von|De)[*_]*\s?:(?:.*@|.*\n(?!{_MARKS}to\b){_LABEL}.*\d)",
    regex.IGNORECASE | regex.MULTILINE,
)
_QUOTED_LINE = regex.compile(r"\s*(?:>|\uff1e|&gt;)")
_FENCE = regex.compile(r"\s*(?:```|~~~)")
_INDENTED = regex.compile(r" {4}|\t")
# A quotation that is never closed continues to the end of the text. Otherwise its end would be searched for again from
# each further mark, which could take a minute.
_IN_MARKS = regex.compile(
    r'"[^"\n]*"|“[^”]*(?:”|\Z)|„[^“”]*(?:[“”]|\Z)|«[^»]*(?:»|\Z)|「[^」]*(?:」|\Z)|『[^』]*(?:』|\Z)'
)
_ALL_MARKS = '"“”„«»「」『』'
_TAG = regex.compile(r"<(?P<closes>/?)(?P<name>\w[\w:-]*)(?:\s[^<>]*)?>")


def without_quotations(text: str) -> str:
    """Return the words of *text* that are its writer's own, as far as its form shows.

    Left out are quoted lines and the lines after them up to a blank line, fenced and indented blocks, text between tags,
    forwarded mails, and text in quotation marks that has a reference and other words in it.
    """
    kept = list[str]()
    is_quoted = is_fenced = is_indented = False
    was_blank = False
    if mail := _MAIL.search(text):
        text = text[: mail.start()]
    # Not splitlines: a mail program marks only lines that follow a line feed.
    for line in dedent(_without_elements(text)).split("\n"):
        if _FENCE.match(line):
            is_fenced = not is_fenced
            continue
        is_blank = line.strip() == ""
        is_quoted = bool(_QUOTED_LINE.match(line)) or (is_quoted and not is_blank)
        is_indented = bool(_INDENTED.match(line)) and (is_indented or was_blank)
        was_blank = is_blank
        if not (is_quoted or is_fenced or is_indented):
            kept.append(line)
    return _IN_MARKS.sub(_alone, "\n".join(kept))


def _without_elements(text: str) -> str:
    """Return *text* without what is between each opening tag and the last closing tag of its name.

    It is the last one, because an earlier one may be part of the quoted text.
    """
    tags = list(_TAG.finditer(text))
    ends = {tag["name"]: tag.end() for tag in tags if tag["closes"]}
    kept = list[str]()
    position = 0
    for tag in tags:
        end = ends.get(tag["name"], 0)
        if position <= tag.start() < end and not tag["closes"]:
            kept.append(text[position : tag.start()])
            position = end
    return "".join([*kept, text[position:]])


def _alone(quotation: regex.Match[str]) -> str:
    """Return a quotation as it is; empty if it has both references and other words."""
    inside = quotation[0].strip(_ALL_MARKS)
    if MemoryRef.find_all(inside) and without_references(inside).strip():
        return ""
    return quotation[0]
