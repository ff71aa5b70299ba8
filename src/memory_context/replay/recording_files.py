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
class RecordingInFile:
    """A run, and the share of its file that is read once it is done."""

    recording: Recording
    share: float


def read_recordings(path: Path) -> list[Recording]:
    """Return all runs of a file at once; see `stream_recordings`."""
    return [placed.recording for placed in stream_recordings(path)]


def parse_recording(line: str) -> Recording:
    """Return the run that a line of JSON holds; of several, the first. See `recordings_in` for the forms.

    Raises:
        InvalidArgumentError: It does not hold one.
    """
    return next(recordings_in(_parse(line)))


def stream_recordings(path: Path) -> Iterator[RecordingInFile]:
    """Yield the runs of a file, each read when it is asked for; of JSON lines, no more than one is held.

    A file whose first line is a JSON value, with more below it, has JSON lines; any other is one document. Blank lines
    are skipped. A run without an id is named after file and line.

    Raises:
        InvalidArgumentError: It cannot be read, or is not a recording; names file and line, and says what would be
            right.
    """
    with _opened(path) as (lines, share_read):
        numbered = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
        first = next(numbered, None)
        if first is None:
            message = f"{path.name} is empty; {RIGHT}"
            raise InvalidArgumentError(message)
        # One document over many lines: its first line alone is no JSON value.
        if _continues(first[1]):
            document = first[1] + "".join(lines)
            yield from _runs_in(path.name, first[0], document, 0.0, 1.0)
            return
        start = 0.0
        for number, line in chain([first], numbered):
            end = share_read()
            yield from _runs_in(path.name, number, line, start, end)
            start = end


def _continues(line: str) -> bool:
    """Return whether `line` begins a JSON value that ends on a later line."""
    try:
        json.loads(line)
    except json.JSONDecodeError as error:
        # The parser ran out of text, rather than into a mistake.
        return error.pos >= len(line.rstrip())
    except (ValueError, RecursionError):
        return False
    return False


def _runs_in(
    name: str, number: int, text: str, start: float, end: float
) -> Iterator[RecordingInFile]:
    """Yield the runs in a text that begins on a line of a file and reaches from one share of it to another."""
    try:
        recordings = list(recordings_in(_parse(text)))
    except _NotJsonError as error:
        message = f"{name}, line {number + error.line}: {error}"
        raise InvalidArgumentError(message) from error
    except InvalidArgumentError as error:
        message = f"{name}, line {number}: {error}"
        raise InvalidArgumentError(message) from error
    for done, recording in enumerate(recordings, 1):
        named = recording if recording.id else Recording(f"{name}:{number}", recording.messages)
        yield RecordingInFile(named, start + (end - start) * done / len(recordings))


class _NotJsonError(InvalidArgumentError):
    """A text is not valid JSON, from a line of it on, counted from 0."""

    line = 0


def _parse(text: str) -> Any:  # noqa: ANN401 - whatever the file holds
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        invalid = _NotJsonError(f"not valid JSON: {error}; {RIGHT}")
        invalid.line = error.lineno - 1 if isinstance(error, json.JSONDecodeError) else 0
        raise invalid from error


@contextmanager
def _opened(path: Path) -> Generator[tuple[Iterator[str], Callable[[], float]], None, None]:
    """Give the lines of a file, and a function that returns the share of it that has been read."""
    try:
        with path.open("rb") as raw:
            size = path.stat().st_size  # 0 for a pipe, which has no position either
            unzipped = gzip.GzipFile(fileobj=raw) if raw.peek(2)[:2] == _GZIP else raw
            # Only line feeds end a line: a JSON text may hold other line breaks.
            lines = io.TextIOWrapper(unzipped, encoding="utf-8-sig", newline="\n")
            yield lines, lambda: raw.tell() / size if size else 0.0
    except UnicodeDecodeError as error:
        message = f"{path.name} is not UTF-8 text: {error.reason}; {RIGHT}"
        raise InvalidArgumentError(message) from error
    except (OSError, EOFError, zlib.error) as error:
        message = f"{path.name} cannot be read: {error}"
        raise InvalidArgumentError(message) from error
