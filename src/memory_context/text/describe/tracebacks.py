"""Describe tracebacks: the exception, and the place in the user's own code."""

from __future__ import annotations

import re

from memory_context.model.one_line import MAX_DESCRIPTION, one_line
from memory_context.text.describe.description import Description, Kind, shortened
from memory_context.text.describe.sample_for_describers import Sample

SEARCHED = 200_000
SHORTEST_MESSAGE = 5
_PYTHON = "Traceback (most recent call last)"
# The signs of a traceback: Python's first line, and what is before each frame of Java and JavaScript.
_MARKS = (_PYTHON, "\tat ", "    at ")
# The exception, with the module or package before its name: `app.errors.LoginError: no user`.
_PYTHON_ERROR = re.compile(
    r"^(?: *\| )?(?:[A-Za-z_]\w*\.)*(?P<name>[A-Z]\w*)(?:: (?P<message>.*))?$", re.MULTILINE
)
# An exception of JavaScript or Java, with the words that these write before its name.
_OTHER_ERROR = re.compile(
    r"^(?:Uncaught |Exception in thread .*\" |Caused by: )?(?:[a-z]\w*\.)*"
    r"(?P<name>[A-Z]\w*(?:Error|Exception))(?:: (?P<message>.*))?$",
    re.MULTILINE,
)
# `File "app/auth.py", line 88`, `at start(App.java:31)`, `at run (/srv/a.js:14:23)`
_TRACE_FRAME = re.compile(
    r"^(?:[ |+]*File \"|[ \t]+at (?:[^\n(]*\()?)(?P<path>[^\s():\"]+\.\w+)(?:\", line |:)(?P<line>\d+)",
    re.MULTILINE,
)
# Paths of library code: readers want the last frame that is not in one of them.
_LIBRARY = re.compile(
    r"site-packages|dist-packages|/lib/python\d|node_modules|at (?:java|jdk|sun)\."
)


def describe_traceback(sample: Sample) -> Description | None:
    """Describe a text that begins or ends with a traceback."""
    ends = sample.head[:2000] + sample.tail[-4000:]
    if any(mark in ends for mark in _MARKS):
        return find_traceback(sample)
    return None


def find_traceback(sample: Sample) -> Description | None:
    """Describe the last traceback of Python, Java or JavaScript in the last 200,000 characters of a text."""
    text = sample.text[-SEARCHED:]
    start = text.rfind(_PYTHON)
    if start >= 0:
        # In Python the frames are above the error, the innermost one last.
        frames = list(_TRACE_FRAME.finditer(text, start))[::-1]
        below = frames[0].end() if frames else start
        error = _PYTHON_ERROR.search(text, below)
    elif any(mark in text for mark in _MARKS):
        errors = list(_OTHER_ERROR.finditer(text))
        all_frames = list(_TRACE_FRAME.finditer(text))
        if not errors or not all_frames:
            return None
        error = errors[-1]
        # The innermost cause may have only `... 41 more` below it.
        frames = list(_TRACE_FRAME.finditer(text, error.end())) or all_frames
    else:
        return None
    if error is None:
        return None
    own = [frame for frame in frames if not _LIBRARY.search(frame[0])] or frames
    location = ""
    if own:
        frame = own[0]
        location = f" in {shortened(frame['path'])}:{frame['line']}"
    kind = "traceback" if start >= 0 else "stack trace"
    facts = f"{kind}: {error['name']}"
    room = MAX_DESCRIPTION - len(facts + location) - 1
    if error["message"] and room > SHORTEST_MESSAGE:
        facts += f" {one_line(error['message'], room)}"
    return Description(Kind.TRACEBACK, facts + location)
