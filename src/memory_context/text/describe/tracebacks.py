"""Tracebacks: which exception, and where in the user's own code."""

from __future__ import annotations

import re

from memory_context.model.reference import MAX_DESCRIPTION, one_line
from memory_context.text.describe.description import Description, Kind, short_path
from memory_context.text.describe.sample import Sample

SEARCHED = 200_000
SHORTEST_MESSAGE = 5
_PYTHON = "Traceback (most recent call last)"
# What each form is called, what it cannot be without (looked for first, because that is fast), and the exception.
_FORMS = (
    (
        "traceback",
        _PYTHON,
        r"^(?: *\| )?(?:[A-Za-z_]\w*\.)*(?P<name>[A-Z]\w*)(?:: (?P<message>.*))?$",
    ),
    ("traceback", "SyntaxError: ", r"^(?P<name>SyntaxError): (?P<message>.*)"),
    ("Rust panic", "panicked at ", r"^thread '.*panicked at (?P<name>).*:\n(?P<message>.*)"),
    ("Go panic", "goroutine ", r"^(?:panic|fatal error): (?P<name>)(?P<message>.*)"),
    # The exception of Java has its package before its name.
    (
        "Java stack trace",
        "\tat ",
        r"^(?:Exception in thread .*\" |Caused by: )?(?:[a-z]\w*\.)+(?P<name>[A-Z]\w*)(?:: (?P<message>.*))?$",
    ),
    (
        "JavaScript stack trace",
        "    at ",
        r"^(?:Uncaught )?(?P<name>[A-Z]\w*Error)(?:: (?P<message>.*))?$",
    ),
)
# ``File "app/auth.py", line 88``, ``at start(App.java:31)``, ``at run (/srv/a.js:14:23)``, a tab and ``/srv/pick.go:14``,
# ``panicked at src/main.rs:4``
_FRAME = re.compile(
    r"^(?:[ |+]*File \"|[ \t]+at (?:[^\n(]*\()?|\t|thread '.*panicked at )(?P<path>[^\s():\"]+\.\w+)"
    r"(?:\", line |:)(?P<line>\d+)",
    re.MULTILINE,
)
# Paths of other people's code: the frame that a reader wants is the last one outside of them.
_LIBRARY = re.compile(
    r"site-packages|dist-packages|/lib/python\d|node_modules|/rustc/|at (?:java|jdk|sun)\."
)


def describe_traceback(sample: Sample) -> Description | None:
    """Describe a text that begins or ends with a traceback."""
    ends = sample.head[:2000] + sample.tail[-4000:]
    return find_traceback(sample) if any(mark in ends for _, mark, _ in _FORMS) else None


def find_traceback(sample: Sample) -> Description | None:
    """Describe the last traceback that stands somewhere in a text."""
    text = sample.text[-SEARCHED:]
    for noun, mark, exception in _FORMS:
        start = text.rfind(mark)
        if start < 0:
            continue
        if mark == _PYTHON:
            # The frames come first, the one nearest to the error last.
            frames = list(_FRAME.finditer(text, start))[::-1]
            end = frames[0].end() if frames else start
            error = re.compile(exception, re.MULTILINE).search(text, end)
        else:
            errors = list(re.finditer(exception, text, re.MULTILINE))
            error = errors[-1] if errors else None
            frames = list(_FRAME.finditer(text, error.start())) if error else []
            frames = frames or list(_FRAME.finditer(text))
        if error and (frames or mark == _PYTHON):
            return _traceback(noun, error, frames)
    return None


def _traceback(noun: str, error: re.Match[str], frames: list[re.Match[str]]) -> Description:
    """Put an exception into words; the first of `frames` that is no library's is where it came from."""
    own = [frame for frame in frames if not _LIBRARY.search(frame[0])] or frames
    place = f" in {short_path(own[0]['path'])}:{own[0]['line']}" if own else ""
    facts = f"{noun}:"
    if error["name"]:
        facts += f" {error['name']}"
    room = MAX_DESCRIPTION - len(facts) - len(place) - 1
    if error["message"] and room > SHORTEST_MESSAGE:
        facts += f" {one_line(error['message'], room)}"
    return Description(Kind.TRACEBACK, facts + place)
