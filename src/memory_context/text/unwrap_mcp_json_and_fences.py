"""Take the text out of the wrapping of a tool's result: an MCP result, a command's output as JSON, a Markdown fence."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from memory_context.text.json_documents import wrapped
from memory_context.text.python_literals import PARSED_AT_MOST, is_object, read_literal, unquote

DEEPEST = 5
_TEXT_KEYS = ("stdout", "output", "stderr", "text", "content", "result", "data")
_NAMED = re.compile(rf"[\"'](?:{'|'.join(_TEXT_KEYS)})[\"']")
# The repr of an MCP result, `meta=None content=[TextContent(type='text', text='…')] isError=False`,
# or of its list alone.
_REPR = re.compile(r"\s*(?:_?meta=\S{1,200}\s+)?(?:content=)?\[(?=\w*(?:Content|TextBlock)\()")
# A string up to its closing quote. Possessive: no character is tried twice, whatever is escaped.
_REPR_TEXT = re.compile(
    r"""\btext=(?:'([^'\\]*+(?:\\.[^'\\]*+)*+)|"([^"\\]*+(?:\\.[^"\\]*+)*+))""", re.DOTALL
)
_FENCE = re.compile(r"\s*(`{3,}|~{3,})[\w+-]{0,20}[ \t]*\n")


class Unwrapped(NamedTuple):
    """The text inside a wrapping, and whether it was cut off."""

    text: str
    is_cut: bool = False


def unwrap(text: str) -> Unwrapped:
    """Return the text inside all wrappings of `text`; if there are none, the text itself."""
    result = Unwrapped(text)
    for _ in range(DEEPEST):
        inner = _without_outermost(result.text)
        if inner is None or not inner.text.strip():
            break
        result = Unwrapped(inner.text, result.is_cut or inner.is_cut)
    return result


def _without_outermost(text: str) -> Unwrapped | None:
    """Return the text inside the outermost wrapping; None if there is no wrapping."""
    if len(text) > 4 * PARSED_AT_MOST:
        return None
    start = text[:400].lstrip()
    if start.startswith(("{", "[")) and _NAMED.search(start):
        literal = read_literal(text)
        inside = _in_value(literal.value) if literal else ""
        if literal and inside:
            return Unwrapped(inside, literal.is_cut)
        return None
    if _REPR.match(text):
        return _in_repr(text)
    end = text.rstrip()
    fence = _FENCE.match(text)
    if fence and end.endswith(fence[1]) and text.count(fence[1]) == 2:
        return Unwrapped(end[fence.end() :].removesuffix(fence[1]))
    return None


def _in_value(value: Any) -> str:  # noqa: ANN401 - whatever JSON holds
    """Return the texts in an MCP result, the output of a command, or an object's only text if it has several lines."""
    if is_object(value):
        texts = [value[key] for key in _TEXT_KEYS if isinstance(value.get(key), str)]
        output = "\n".join(filter(None, texts))
        if "stdout" in value:
            return output
        if len(texts) == 1 and "\n" in output:
            return output
    return "\n".join(wrapped(value))


def _in_repr(text: str) -> Unwrapped:
    """Return the texts in the repr of an MCP result; the last one may be cut off."""
    texts: list[str] = []
    end = 0
    for match in _REPR_TEXT.finditer(text):
        quote = "'" if match.lastindex == 1 else '"'
        texts.append(unquote(match[match.lastindex or 1], quote))
        end = match.end()
    return Unwrapped("\n".join(texts), is_cut=end == len(text))
