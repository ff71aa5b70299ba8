"""Take off what a tool's result is wrapped in: MCP results as JSON or repr, a command's exit code, a fence, a notice."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, cast

from memory_context.text.literals import PARSED_AT_MOST, read_literal, unquote

DEEPEST = 5
_TEXT_KEYS = ("stdout", "output", "stderr", "text", "content", "result", "data")
_CODE_KEYS = ("exit_code", "exitCode", "returncode", "return_code", "exit_status")
_NAMED = re.compile(rf"[\"'](?:{'|'.join(_TEXT_KEYS + _CODE_KEYS)})[\"']")
# The repr of an MCP result: ``meta=None content=[TextContent(type='text', text='…')] isError=False``, or of its list.
_REPR = re.compile(r"\s*(?:_?meta=\S{1,200}\s+)?(?:content=)?\[(?=\w*(?:Content|TextBlock)\()")
_REPR_TEXT = re.compile(r"\b(?:text|content)=(?=['\"])")
_QUOTED = {
    "'": re.compile(r"'[^'\\]*+(?:\\.[^'\\]*+)*+", re.DOTALL),
    '"': re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL),
}
# A line that says nothing but how a command ended: ``Exit code: 1``, ``[Command finished with exit code 2]``.
_EXIT = re.compile(
    r"\W*(?:[\w ]{0,40}\b)?(?:exit[ _-]?(?:code|status)|exited with(?: code)?|return[ _]?code)"
    r"\W{0,4}(-?\d{1,5})\W*",
    re.IGNORECASE,
)
_FENCE = re.compile(r"\s*(`{3,}|~{3,})([\w+-]{0,20})[ \t]*\n")
# The last line of a text that was cut: ``[output truncated]``, ``... 120 more lines``, ``<response clipped>``.
_TRUNCATED = re.compile(
    r"\btruncated\b|clipped>|(?:\.{3}|…)\s*\[?\d+ (?:more )?(?:lines|characters|bytes)|characters omitted|start_index",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Unwrapped:
    """The text inside of a wrapping.

    Attributes:
        text: The text.
        is_cut: Whether it ends before it should.
        exit_code: What the command ended with that printed it.
        is_error: Whether the wrapping calls it an error.
        language: What a fence calls it.
    """

    text: str
    is_cut: bool = False
    exit_code: int | None = None
    is_error: bool = False
    language: str = ""


def unwrap(text: str) -> Unwrapped:
    """Return what is inside of all wrappings of `text`; the text itself where there is none."""
    whole = Unwrapped(text)
    for _ in range(DEEPEST):
        inner = _without_one(whole.text)
        if inner is None or not inner.text.strip():
            break
        whole = Unwrapped(
            inner.text,
            whole.is_cut or inner.is_cut,
            whole.exit_code if inner.exit_code is None else inner.exit_code,
            whole.is_error or inner.is_error,
            inner.language or whole.language,
        )
    return whole


def _without_one(text: str) -> Unwrapped | None:
    """Return what is inside of the outermost wrapping."""
    start = text[:400].lstrip()
    if len(text) > 4 * PARSED_AT_MOST:
        return None
    if start.startswith(("{", "[")) and _NAMED.search(start):
        literal = read_literal(text)
        return _of_value(literal.value, is_cut=literal.is_cut) if literal else None
    if _REPR.match(text):
        return _of_repr(text)
    return _of_fence(text) or _of_exit_line(text)


def _of_fence(text: str) -> Unwrapped | None:
    end = text.rstrip()
    fence = _FENCE.match(text)
    if fence and end.endswith(fence[1]) and text.count(fence[1]) == 2:
        return Unwrapped(end[fence.end() :].removesuffix(fence[1]), language=fence[2].lower())
    return None


def _of_exit_line(text: str) -> Unwrapped | None:
    """Return a text without its first or last line, if that says how a command ended, or that there is more."""
    first, _, rest = text.lstrip().partition("\n")
    if len(first) <= 200 and (match := _EXIT.fullmatch(first)):
        return Unwrapped(rest, exit_code=int(match[1]))
    end = text.rstrip()
    last = end.rfind("\n", max(0, len(end) - 300)) + 1
    if last and (match := _EXIT.fullmatch(end, last)):
        return Unwrapped(end[:last], exit_code=int(match[1]))
    if last and _TRUNCATED.search(end, last):
        return Unwrapped(end[:last], is_cut=True)
    return None


def _of_value(value: Any, *, is_cut: bool) -> Unwrapped | None:  # noqa: ANN401 - whatever JSON holds
    """Return the texts in an MCP result, the output of a command, or the one long text in an object."""
    is_error = False
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        is_error = fields.get("isError") is True
        codes = [fields[key] for key in _CODE_KEYS if type(fields.get(key)) is int]
        texts = [fields[key] for key in _TEXT_KEYS if isinstance(fields.get(key), str)]
        length = sum(map(len, texts))
        if codes and length:
            code = max(-99_999, min(codes[0], 99_999))
            return Unwrapped("\n".join(filter(None, texts)), is_cut, code)
        if len(texts) == 1 and "\n" in texts[0] and length > 0.75 * len(str(fields)[: 2 * length]):
            return Unwrapped(texts[0], is_cut, is_error=is_error)
        value = fields.get("content")
    if not isinstance(value, list):
        return None
    texts = list[str]()
    for part in cast("list[object]", value):
        if not isinstance(part, dict) or "type" not in part:
            return None
        text = cast("dict[str, Any]", part).get("text")
        if isinstance(text, str):
            texts.append(text)
    return Unwrapped("\n".join(texts), is_cut, is_error=is_error)


def _of_repr(text: str) -> Unwrapped:
    """Return the texts in the repr of an MCP result; the last may be cut in its middle."""
    texts: list[str] = []
    position = 0
    is_cut = False
    while match := _REPR_TEXT.search(text, position):
        start = match.end()
        quoted = _QUOTED[text[start]].match(text, start)
        position = quoted.end() if quoted else len(text)
        is_cut = position == len(text)
        texts.append(unquote(text[start + 1 : position], text[start]))
    return Unwrapped("\n".join(texts), is_cut, is_error="rror=True" in text[position:])
