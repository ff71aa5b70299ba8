"""Files of recordings, read run by run: JSON lines or one JSON document, gzipped or not."""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from memory_context.exceptions import InvalidArgumentError
from memory_context.replay.recording_formats import RIGHT, recordings_in
from memory_context.replay.recordings import Recording

_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class Placed:
    """A run, and the share of its file that is read once it is done."""

    recording: Recording
    share: float


def read_recordings(path: Path) -> list[Recording]:
    """All runs of a file at once; see `stream_recordings`."""
    return [placed.recording for placed in stream_recordings(path)]


def parse_recording(line: str) -> Recording:
    """The run that a line of JSON holds; of several, the first. See `recordings_in` for the forms.

    Raises:
        InvalidArgumentError: It is no such run.
    """
    return next(_recordings(line))


def stream_recordings(path: Path) -> Iterator[Placed]:
    """The runs of a file, each read when it is asked for; of JSON lines, no more than one is held.

    A file whose first line is a JSON value, with more below it, has JSON lines; any other is one document. Blank lines
    are skipped. A run without an id is named after file and line.

    Raises:
        InvalidArgumentError: It cannot be read, or is no recording; names file and line, and says what would be right.
    """
    with _opened(path) as (lines, share):
        numbered = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
        first = next(numbered, None)
        if first is None:
            message = f"{path.name} is empty; {RIGHT}"
            raise InvalidArgumentError(message)
        if _goes_on(first[1]):
            document = first[1] + "".join(lines)
            yield from _placed(path.name, first[0], document, 0.0, 1.0)
            return
        start = 0.0
        for number, line in chain([first], numbered):
            end = share()
            yield from _placed(path.name, number, line, start, end)
            start = end


def _goes_on(line: str) -> bool:
    """Whether `line` is the beginning of a JSON value that ends on a later line."""
    try:
        json.loads(line)
    except json.JSONDecodeError as error:
        return error.pos >= len(line.rstrip())
    except (ValueError, RecursionError):
        return False
    return False


def _placed(name: str, number: int, text: str, start: float, end: float) -> Iterator[Placed]:
    """The runs in a text that reaches from one share of its file to another."""
    recordings = list(_located(name, number, text))
    for done, recording in enumerate(recordings, 1):
        yield Placed(recording, start + (end - start) * done / len(recordings))


def _located(name: str, number: int, text: str) -> Iterator[Recording]:
    """The runs in a text that begins on line `number` of the file `name`."""
    try:
        for recording in _recordings(text):
            yield recording if recording.id else Recording(f"{name}:{number}", recording.messages)
    except _NotJsonError as error:
        message = f"{name}, line {number + error.line}: {error}"
        raise InvalidArgumentError(message) from error
    except InvalidArgumentError as error:
        message = f"{name}, line {number}: {error}"
        raise InvalidArgumentError(message) from error


class _NotJsonError(InvalidArgumentError):
    """A text is no JSON, from a line of it on, counted from 0."""

    line = 0


def _recordings(text: str) -> Iterator[Recording]:
    yield from recordings_in(_parsed(text))


def _parsed(text: str) -> Any:  # noqa: ANN401 - whatever the file holds
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        wrong = _NotJsonError(f"this is no JSON: {error}; {RIGHT}")
        wrong.line = error.lineno - 1 if isinstance(error, json.JSONDecodeError) else 0
        raise wrong from error


@contextmanager
def _opened(path: Path) -> Generator[tuple[Iterator[str], Callable[[], float]], None, None]:
    """The lines of a file, and a function that says which share of it has been read."""
    try:
        with path.open("rb") as raw:
            size = path.stat().st_size  # 0 for a pipe, which has no position either
            unzipped = gzip.GzipFile(fileobj=raw) if raw.peek(2)[:2] == _GZIP else raw
            lines = io.TextIOWrapper(
                unzipped, encoding="utf-8-sig", newline="\n"
            )  # JSON may hold other line breaks
            yield lines, lambda: raw.tell() / size if size else 0.0
    except UnicodeDecodeError as error:
        message = f"{path.name} is no UTF-8 text: {error.reason}; {RIGHT}"
        raise InvalidArgumentError(message) from error
    except (OSError, EOFError, zlib.error) as error:
        message = f"{path.name} cannot be read: {error}"
        raise InvalidArgumentError(message) from error
