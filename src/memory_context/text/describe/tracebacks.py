"""Tracebacks: which exception, and where in the user's own code."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from memory_context.text.describe.kind import Kind
from memory_context.text.describe.sample import Sample
from memory_context.text.describe.wording import short, tail_of_path

SEARCHED = 200_000
_PYTHON = "Traceback (most recent call last)"
_PYTHON_FRAME = re.compile(r'^[ \t]*(?:\+?\s*\|?\s*)?File "([^"\n]+)", line (\d+)', re.MULTILINE)
_PYTHON_ERROR = re.compile(
    r"^(?:\s*\|\s)?((?:[A-Za-z_]\w*\.)*[A-Z]\w*)(?:: ([^\n]*))?$", re.MULTILINE
)
_SYNTAX = re.compile(
    r'^[ \t]*File "([^"\n]+)", line (\d+)\n(?:[^\n]*\n){1,3}?((?:Syntax|Indentation|Tab)Error): ([^\n]*)',
    re.MULTILINE,
)
_IPYTHON = re.compile(r"^-{20,}\n(\w+)\s+Traceback \(most recent call last\)", re.MULTILINE)
_CELL = re.compile(
    r"^(?:Cell In|File|Input In) *\[?(\S+?)[\],:]* ?(?:, )?line:? ?(\d+)", re.MULTILINE
)
_JAVA = re.compile(
    r"^(?:Exception in thread \"[^\"\n]*\" |Caused by: )?((?:[a-z]\w*\.)+[A-Z][\w$]*)(?:: ([^\n]*))?\n(?:[^\n]+\n){0,3}?\s+at [\w.$/<>]+\(",
    re.MULTILINE,
)
_JAVA_FRAME = re.compile(
    r"^[ \t]+at ([\w.$/<>]+)\(([\w$]+\.(?:java|kt|scala|groovy)):(\d+)\)", re.MULTILINE
)
_CAUSED = re.compile(r"^Caused by: ((?:[a-z]\w*\.)*[A-Z][\w$]*)(?:: ([^\n]*))?", re.MULTILINE)
_NODE = re.compile(
    r"^(?:Uncaught |\[?)((?:[A-Z]\w*)?(?:Error|Exception)\w*)(?: \[\w+\])?(?:: ([^\n]*))?\n(?:(?!\s+at )[^\n]*\n){0,8}?\s+at [^\n]+:\d+:\d+\)?",
    re.MULTILINE,
)
_NODE_FRAME = re.compile(
    r"^[ \t]+at (?:[^\n(]*\()?(?:file://)?([^\s():]*(?::[\\/][^\s():]*)?):(\d+):\d+\)?",
    re.MULTILINE,
)
_GO = re.compile(r"^(?:panic: |fatal error: )([^\n]*)", re.MULTILINE)
_GO_FRAME = re.compile(r"^\t(\S+\.go):(\d+)", re.MULTILINE)
_RUST = re.compile(
    r"^thread '[^'\n]*'(?: \(\d+\))? panicked at (?:'([^\n]*)', ([^\s:]+):(\d+):\d+|([^\s:]+):(\d+):\d+:\n([^\n]*))",
    re.MULTILINE,
)
_DOTNET = re.compile(
    r"^(?:Unhandled [Ee]xception[.:] )?((?:[A-Z]\w*\.)+\w*Exception)(?: \([^)\n]*\))?: ([^\n]*)\n(?:[^\n]*\n){0,3}?\s+at ",
    re.MULTILINE,
)
_DOTNET_FRAME = re.compile(
    r"^[ \t]+at [^\n]+ in ([^\n:]+(?::[\\/][^\n:]+)?):line (\d+)", re.MULTILINE
)
_RUBY = re.compile(
    r"^(?:Traceback[^\n]*\n)?([^\s:]+\.rb):(\d+):in [`'][^'\n]*': ([^\n]*) \(([A-Z][\w:]*)\)",
    re.MULTILINE,
)
_PHP = re.compile(
    r"^(?:PHP )?Fatal error:\s+(?:Uncaught ([\w\\]+): )?([^\n]*?) in (\S+\.php)(?::(\d+)| on line (\d+))",
    re.MULTILINE,
)
_FOREIGN = re.compile(
    r"site-packages|dist-packages|/lib/python\d|<frozen |<string>|node_modules|node:|internal/|/usr/(?:lib|local/go)|/rustc/|\.cargo/registry|^java\.|^jdk\.|^sun\.|^org\.springframework"
)
_NO_ERRORS = re.compile(r"(?:Traceback|File|During|The above|Note|None|True|False)$")


_AT = re.compile(r"\n\s+at \S")
_MENTIONS = (_PYTHON, " at ", "\tat ", "panic", "goroutine", "Fatal error", ' File "', ".rb:")


@dataclass(frozen=True, slots=True)
class Trace(Kind):
    """An exception and its place: ``traceback: KeyError 'user_id' in app/auth.py:88``."""

    language: str
    error: str
    message: str = ""
    place: str = ""

    @property
    def facts(self) -> str:
        """The exception; its message as far as it leaves room for the place."""
        noun = {"Python": "traceback", "Go": "Go panic", "Rust": "Rust panic"}.get(
            self.language, f"{self.language} stack trace"
        )
        place = f" in {self.place}" if self.place else ""
        error = self.error.rsplit(".", 1)[-1] if len(self.error) > 30 else self.error
        room = 78 - len(noun) - len(place) - len(error) - 2
        message = short(self.message, room) if self.message and room > 5 else ""
        return f"{noun}: {' '.join(part for part in (error, message) if part)}{place}"


def recognise_trace(sample: Sample) -> Trace | None:
    """The traceback that a text is: one that begins it, or ends it."""
    trace = find_trace(sample)
    return trace if trace and _is_all(sample) else None


def find_trace(sample: Sample) -> Trace | None:
    """A traceback somewhere in a text, the last one."""
    text = sample.text[-SEARCHED:] if len(sample.text) > SEARCHED else sample.text
    if not any(mention in text for mention in _MENTIONS):
        return None
    has_frames = _AT.search(f"\n{text}") is not None
    known = (find for mark, find in _LANGUAGES if (mark in text if mark else has_frames))
    return next((trace for find in known if (trace := find(text))), None)


def _is_all(sample: Sample) -> bool:
    """Whether the traceback begins the text or ends it, and not much stands around it."""
    beginnings = (sample.head[:600], sample.text[-SEARCHED:][-4000:])
    return any(_MARK.search(part) is not None for part in beginnings) or len(sample.text) < 2000


_MARK = re.compile(
    r"Traceback \(most recent|^[ \t]+at \S+|^panic: |^goroutine \d+|panicked at|Uncaught|Unhandled|Fatal error|^[ \t]*File \"[^\"]+\", line \d+|\.rb:\d+:in ",
    re.MULTILINE,
)


def _own(frames: list[tuple[str, str]], *, last: bool) -> str:
    """The frame nearest to the error that is not a library's."""
    ordered = list(reversed(frames)) if last else frames
    own = next((frame for frame in ordered if not _FOREIGN.search(frame[0])), None) or (
        ordered[0] if ordered else None
    )
    return f"{tail_of_path(own[0])}:{own[1]}" if own else ""


def _python(text: str) -> Trace | None:
    start = text.rfind(_PYTHON)
    if start < 0:
        return None
    block = text[start : start + 60_000]
    frames = list(_PYTHON_FRAME.finditer(block))
    errors = [
        match
        for match in _PYTHON_ERROR.finditer(block, frames[-1].end() if frames else len(_PYTHON))
        if not _NO_ERRORS.match(match[1])
    ]
    cells = _CELL.findall(block)
    if ipython := _IPYTHON.search(text):
        known = [match for match in errors if match[1].rsplit(".", 1)[-1] == ipython[1]]
        return Trace(
            "Python",
            ipython[1],
            known[-1][2] or "" if known else "",
            f"cell line {cells[-1][1]}" if cells else "",
        )
    own = _own([(frame[1], frame[2]) for frame in frames], last=True)
    if not errors:
        return Trace("Python", "error not shown", "", own, cut=True) if frames else None
    return Trace("Python", errors[0][1], errors[0][2] or "", own)


def _syntax(text: str) -> Trace | None:
    match = _SYNTAX.search(text)
    return (
        Trace("Python", match[3], match[4], f"{tail_of_path(match[1])}:{match[2]}")
        if match
        else None
    )


def _java(text: str) -> Trace | None:
    match = _JAVA.search(text)
    if not match or not _JAVA_FRAME.search(text):
        return None
    caused = list(_CAUSED.finditer(text, match.start()))
    cause = caused[-1] if caused else match
    frames = [(frame[1], frame[2], frame[3]) for frame in _JAVA_FRAME.finditer(text, cause.start())]
    own = next(
        (frame for frame in frames if not _FOREIGN.search(frame[0])), frames[0] if frames else None
    )
    return Trace(
        "Java", cause[1].rsplit(".", 1)[-1], cause[2] or "", f"{own[1]}:{own[2]}" if own else ""
    )


def _node(text: str) -> Trace | None:
    match = _NODE.search(text)
    if not match:
        return None
    frames = [(frame[1], frame[2]) for frame in _NODE_FRAME.finditer(text, match.start())]
    return Trace("JavaScript", match[1], match[2] or "", _own(frames, last=False))


def _go(text: str) -> Trace | None:
    match = _GO.search(text)
    if not match or "goroutine " not in text[match.end() :][:3000]:
        return None
    return Trace("Go", "", match[1], _own(_GO_FRAME.findall(text, match.end()), last=False))


def _rust(text: str) -> Trace | None:
    match = _RUST.search(text)
    if not match:
        return None
    path, line = match[2] or match[4], match[3] or match[5]
    return Trace("Rust", "", match[1] or match[6], f"{tail_of_path(path)}:{line}")


def _dotnet(text: str) -> Trace | None:
    match = _DOTNET.search(text)
    if not match:
        return None
    return Trace(
        "C#",
        match[1].rsplit(".", 1)[-1],
        match[2],
        _own(_DOTNET_FRAME.findall(text, match.start()), last=False),
    )


def _ruby(text: str) -> Trace | None:
    match = _RUBY.search(text)
    return (
        Trace("Ruby", match[4], match[3], f"{tail_of_path(match[1])}:{match[2]}") if match else None
    )


def _php(text: str) -> Trace | None:
    match = _PHP.search(text)
    if not match:
        return None
    return Trace(
        "PHP",
        match[1] or "fatal error",
        match[2],
        f"{tail_of_path(match[3])}:{match[4] or match[5]}",
    )


# What the trace of a language cannot be without; where that is nothing, frames in lines that begin with ``at``.
_LANGUAGES: tuple[tuple[str, Callable[[str], Trace | None]], ...] = (
    (_PYTHON, _python),
    ("panicked at", _rust),
    ("goroutine ", _go),
    ("", _dotnet),
    ("", _java),
    ("", _node),
    (".rb:", _ruby),
    ("Fatal error", _php),
    ("Error: ", _syntax),
)
