"""What a text is wrapped in: results of tools as JSON or as a repr, exit codes, tags, fences, a word before it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from memory_context.text.describe.literals import (
    WHOLE_AT_MOST,
    Read,
    as_list,
    is_dict,
    is_list,
    read_whole,
    unescaped,
)

DEEPEST = 5
_REPR = re.compile(
    r"\s*(?:(?:meta|_meta)=\S{1,200}\s+)?(?:\w+\s*\(\s*)?(?:is_error=\w+,?\s+|isError=\w+,?\s+)?"
    r"(?:content|result|structuredContent)=(?=\[|['\"])"
)
_PARTS_REPR = re.compile(
    r"\s*\[(?=\w*(?:TextContent|TextResultContent|ImageContent|EmbeddedResource|TextBlock)\()"
)
_PART_TEXT = re.compile(r"\b(?:text|content)=(?=['\"])")
_SINGLE = re.compile(r"'[^'\\]*(?:\\.[^'\\]*)*'", re.DOTALL)
_DOUBLE = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_IS_ERROR = re.compile(r"\bis_?[eE]rror=True")
_TEXT_KEYS = ("text", "content", "output", "stdout", "result", "data")
_RUN_KEYS = {
    "stdout",
    "stderr",
    "output",
    "exit_code",
    "exitCode",
    "returncode",
    "return_code",
    "exit_status",
}
_CODE_KEYS = ("exit_code", "exitCode", "returncode", "return_code", "exit_status", "code")
_EXIT = re.compile(
    r"\s*[\[(<]?\s*(?:the\s+)?(?:(?:command|process)\s+)?(?:\w+\s+)?(?:with\s+)?"
    r"(?:exit(?:ed)?[ _-]?(?:code|status|with(?: code)?)|return[ _]?code)\s*(?:is\s+)?[:=]?\s*(-?\d{1,5})\s*[\])>.]{0,3}[ \t]*",
    re.IGNORECASE,
)
_TAGGED_EXIT = re.compile(r"<(returncode|exit_code|exitcode|exit_status)>\s*(-?\d{1,5})\s*</\1>\s*")
_TAGGED = re.compile(
    r"\s*<(output|stdout|result|tool_result|function_results|observation|response|content|document|file)(?:\s[^<>\n]{0,200})?>\n?",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"\s*(?:OBSERVATION|Observation|Output|OUTPUT|Stdout|STDOUT|Result|Tool result|Response)\s*:\s*\n"
)
_FENCE = re.compile(r"\s*(`{3,}|~{3,})([\w+-]{0,20})[ \t]*\n")
_TRUNCATED = re.compile(
    r"(?:(?:output|content|response|result|text|file|log)s?\s+(?:was |is |has been )?truncated|\[\.{3}|\btruncated\s*(?:to|after|\]|\)|\.{3})"
    r"|\[truncated|\(truncated|…\s*truncated|\.\.\.\s*\[?\d+ (?:more )?(?:lines|characters|bytes)|<response clipped>"
    r"|\blimited to [\d,]+ (?:characters|lines)|characters (?:truncated|omitted)|lines (?:truncated|omitted))",
    re.IGNORECASE,
)
_ENDED_TAG = re.compile(
    r"\s*<(?:error|note|warning)>[^<]{0,500}</(?:error|note|warning)>\s*\Z|\s*<response clipped>.{0,600}\Z",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Wrapped:
    """The text inside of a wrapping.

    Attributes:
        text: The text.
        cut: Whether it ends before it should.
        exit_code: What the command ended with.
        is_error: Whether the wrapping calls it an error.
        language: What a fence calls it.
    """

    text: str
    cut: bool = False
    exit_code: int | None = None
    is_error: bool = False
    language: str = ""


def unwrapped(text: str) -> Wrapped:
    """What is inside of all wrappings of `text`; itself where there is none."""
    whole = Wrapped(text)
    for _ in range(DEEPEST):
        inner = _one(whole.text)
        if inner is None or not inner.text.strip():
            break
        code = inner.exit_code if inner.exit_code is not None else whole.exit_code
        language = inner.language or whole.language
        whole = Wrapped(
            inner.text, whole.cut or inner.cut, code, whole.is_error or inner.is_error, language
        )
    return whole


def _one(text: str) -> Wrapped | None:
    """What is inside of the outermost wrapping."""
    if len(text) > 4 * WHOLE_AT_MOST:
        return None
    start = text[:400].lstrip()
    if start[:1] == "{":
        return _of_object(text) if _mentions_text(start) else None
    if start[:1] == "[":
        return _of_parts(text) or _of_list(text)
    if start[:1] == '"':
        return _of_string(text)
    return _of_repr(text) or _of_command(text) or _of_fence(text) or _of_notice(text)


def _mentions_text(start: str) -> bool:
    """Whether an object may be a wrapping, by what its beginning names."""
    return any(
        f"{quote}{name}{quote}" in start for name in (*_TEXT_KEYS, *_RUN_KEYS) for quote in "'\""
    )


def _of_object(text: str) -> Wrapped | None:
    read = read_whole(text)
    if read is None or not is_dict(read.value):
        return None
    value = cast("dict[str, Any]", read.value)
    parts = value.get("content")
    if is_list(parts) and _are_parts(as_list(parts)):
        return Wrapped(_joined(as_list(parts)), read.cut, None, value.get("isError") is True)
    if (
        _RUN_KEYS & value.keys()
        and {"stdout", "output", "stderr"} & value.keys()
        and len(value) <= 8
    ):
        return _of_run(value, cut=read.cut)
    return _of_single(value, read)


def _of_single(value: Mapping[str, Any], read: Read) -> Wrapped | None:
    """``{"result": "a long text"}``: nothing else that is as long."""
    texts = [one for name, one in value.items() if name in _TEXT_KEYS and isinstance(one, str)]
    rest = sum(len(str(one)[:1000]) for name, one in value.items() if name not in _TEXT_KEYS)
    if len(texts) != 1 or len(value) > 3 or len(texts[0]) < 3 * rest or "\n" not in texts[0]:
        return None
    return Wrapped(
        texts[0], read.cut, None, value.get("isError") is True or value.get("is_error") is True
    )


def _of_run(value: Mapping[str, Any], *, cut: bool) -> Wrapped | None:
    """The output of a command, with its errors behind it."""
    outputs = [value.get("stdout") or value.get("output"), value.get("stderr")]
    text = "\n".join(one for one in outputs if isinstance(one, str) and one)
    code = next((value[name] for name in _CODE_KEYS if isinstance(value.get(name), int)), None)
    return Wrapped(text, cut, None if code is None else max(-99999, min(int(code), 99999)))


def _are_parts(parts: list[Any]) -> bool:
    return (
        bool(parts)
        and all(is_dict(part) and "type" in part for part in parts)
        and any(isinstance(part.get("text"), str) for part in parts)
    )


def _joined(parts: list[Any]) -> str:
    return "\n".join(part["text"] for part in parts if isinstance(part.get("text"), str))


def _of_list(text: str) -> Wrapped | None:
    """A list of the parts of a message."""
    start = text[:400]
    if '"type"' not in start and "'type'" not in start:
        return None
    read = read_whole(text)
    if read is None or not is_list(read.value) or not _are_parts(as_list(read.value)):
        return None
    parts = as_list(read.value)
    return (
        Wrapped(_joined(parts), read.cut) if all(part["type"] == "text" for part in parts) else None
    )


def _of_string(text: str) -> Wrapped | None:
    """A text that was written down as JSON."""
    stripped = text.strip()
    if len(stripped) < 3 or stripped[-1] != '"' or "\\" not in stripped:
        return None
    try:
        inner = json.loads(stripped)
    except ValueError:
        return None
    return Wrapped(inner) if isinstance(inner, str) else None


def _of_repr(text: str) -> Wrapped | None:
    """``meta=None content=[TextContent(type='text', text='…')] isError=False``."""
    match = _REPR.match(text)
    if match is None:
        return None
    if text[match.end()] == "[":
        return _of_parts(text[match.end() :])
    inner, end, cut = _string_at(text, match.end())
    return Wrapped(inner, cut, None, _IS_ERROR.search(text[:400] + text[end:]) is not None)


def _of_parts(text: str) -> Wrapped | None:
    """``[TextContent(type='text', text='…'), …]``, possibly cut in the middle of a text."""
    if not _PARTS_REPR.match(text):
        return None
    texts: list[str] = []
    position, cut = 0, False
    while not cut and (match := _PART_TEXT.search(text, position)):
        inner, position, cut = _string_at(text, match.end())
        texts.append(inner)
    return (
        Wrapped("\n".join(texts), cut, None, _IS_ERROR.search(text, position) is not None)
        if texts
        else None
    )


def _string_at(text: str, start: int) -> tuple[str, int, bool]:
    """The text between the quotes that open at `start`, where it ends, and whether it does not."""
    match = (_SINGLE if text[start] == "'" else _DOUBLE).match(text, start)
    if match:
        return unescaped(match[0][1:-1]), match.end(), False
    body = text[start + 1 :]
    return unescaped(body[: len(body) - (len(body) - len(body.rstrip("\\"))) % 2]), len(text), True


def _of_command(text: str) -> Wrapped | None:
    """The output of a command beside what it ended with."""
    tagged = _TAGGED_EXIT.match(text.lstrip()[:300])
    if tagged:
        return Wrapped(text.lstrip()[tagged.end() :], exit_code=int(tagged[2]))
    first = text.lstrip()[:400].partition("\n")[0]
    match = _EXIT.fullmatch(first)
    if match:
        return Wrapped(text.lstrip()[len(first) + 1 :], exit_code=int(match[1]))
    end = text.rstrip()
    start = end.rfind("\n", max(0, len(end) - 200)) + 1
    match = _EXIT.fullmatch(end[start:]) if start else None
    return Wrapped(end[:start], exit_code=int(match[1])) if match else None


def _of_fence(text: str) -> Wrapped | None:
    """The inside of tags, of a fence, or what stands behind a label."""
    if match := _TAGGED.match(text):
        closing = f"</{match[1]}>"
        end = text.rstrip()
        if end.endswith(closing):
            return Wrapped(end[match.end() : -len(closing)])
        return None
    if match := _LABEL.match(text):
        return Wrapped(text[match.end() :])
    match = _FENCE.match(text)
    if match and text.rstrip().endswith(match[1]) and text.count(match[1]) == 2:
        return Wrapped(text[match.end() :].rstrip()[: -len(match[1])], language=match[2].lower())
    return None


def _of_notice(text: str) -> Wrapped | None:
    """The text before a notice that there is more."""
    tail = text[-700:]
    if "<" in tail and (match := _ENDED_TAG.search(tail)):
        cut = len(text) - len(tail) + match.start()
        return Wrapped(text[:cut], cut=_TRUNCATED.search(tail) is not None or "start_index" in tail)
    end = text.rstrip()
    start = end.rfind("\n", max(0, len(end) - 300)) + 1
    if start and _TRUNCATED.search(end[start:]):
        return Wrapped(end[:start], cut=True)
    return None
