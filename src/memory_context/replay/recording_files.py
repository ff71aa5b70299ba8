"""Read files of recordings run by run: JSON Lines or one JSON document, gzipped or not."""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias, cast

from memory_context.exceptions import InvalidArgumentError
from memory_context.replay.formats.runs_in_a_document import RIGHT, is_piece, recordings_in
from memory_context.replay.recording_as_messages import Recording

Watch: TypeAlias = Callable[[BinaryIO], BinaryIO]
"""Takes an open file and returns one whose progress is watched, as by a progress bar."""

_GZIP = b"\x1f\x8b"


def read_recordings(path: Path) -> list[Recording]:
    """Return all runs of a file at once; see `stream_recordings`."""
    return list(stream_recordings(path))


def parse_recording(line: str) -> Recording:
    """Return the run in a line of JSON; if it holds several, the first. See `recordings_in` for the formats.

    Raises:
        InvalidArgumentError: The line holds no run.
    """
    return next(recordings_in(_parse(line)))


def stream_recordings(path: Path, watch: Watch | None = None) -> Iterator[Recording]:
    """Yield the runs of a file lazily; of JSON Lines, only one line is in memory at a time.

    Telemetry spans and the lines of a session are pieces of runs; all of those are in memory together.

    A file is JSON Lines if its first line is a complete JSON value; otherwise it is one document. Blank lines are
    skipped. A run without an id is named after its file and line.

    Args:
        path: The file, gzipped or not.
        watch: Wraps the open file, for a progress bar.

    Raises:
        InvalidArgumentError: The file cannot be read, or is not a recording; the message names the file and line, and
            says what is expected.
        NoMessagesError: The file is a session without messages.
    """
    with _opened(path, watch) as lines:
        numbered = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
        first = next(numbered, None)
        if first is None:
            raise InvalidArgumentError(f"{path.name} is empty; {RIGHT}")
        number, line = first
        if _continues(line):
            # One document over many lines: its first line alone is not a JSON value.
            line += "".join(lines)
        for position, text in _whole_runs(path.name, chain([(number, line)], numbered)):
            try:
                recordings = list(recordings_in(text))
            except InvalidArgumentError as error:
                raise type(error)(f"{path.name}, line {position}: {error}") from error
            for recording in recordings:
                yield Recording(recording.id or f"{path.name}:{position}", recording.messages)


def _whole_runs(name: str, lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, object]]:
    """Yield the number and the JSON value of each line; if the lines are pieces of runs, all of them as one list."""
    pieces = list[object]()
    beginning = 0
    for number, line in lines:
        try:
            document: object = _parse(line)
        except InvalidArgumentError as error:
            raise InvalidArgumentError(f"{name}, line {number}: {error}") from error
        if is_piece(document):
            beginning = beginning or number
            pieces.append(document)
        elif pieces:
            raise InvalidArgumentError(
                f"{name}, line {number}: not a span, a run or a line of a session, unlike the lines before it"
            )
        else:
            yield number, document
    if pieces:
        yield beginning, pieces


def _continues(line: str) -> bool:
    """Return whether `line` begins a JSON value that ends on a later line."""
    try:
        json.loads(line)
    except json.JSONDecodeError as error:
        # The parser reached the end of the text, rather than a mistake in it.
        return error.pos >= len(line.rstrip())
    except (ValueError, RecursionError):
        return False
    return False


def _parse(text: str) -> Any:  # noqa: ANN401 - whatever the file holds
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidArgumentError(f"not valid JSON: {error}; {RIGHT}") from error


@contextmanager
def _opened(path: Path, watch: Watch | None) -> Generator[Iterator[str]]:
    """Open a file and yield an iterator over its lines, decompressed."""
    try:
        with path.open("rb") as file:
            # One can peek into the buffer, but not into a watched file.
            watched = watch(file) if watch else file
            raw = io.BufferedReader(cast("io.RawIOBase", watched))
            unzipped = gzip.GzipFile(fileobj=raw) if raw.peek(2)[:2] == _GZIP else raw
            # Only line feeds end a line: a JSON text may hold other line breaks.
            yield io.TextIOWrapper(unzipped, encoding="utf-8-sig", newline="\n")
    except UnicodeDecodeError as error:
        raise InvalidArgumentError(
            f"{path.name} is not UTF-8 text: {error.reason}; {RIGHT}"
        ) from error
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidArgumentError(f"{path.name} cannot be read: {error}") from error
