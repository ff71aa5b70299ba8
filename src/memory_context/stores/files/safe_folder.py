"""A folder of JSON files, and nothing outside it: every path is walked from the folder's own handle, without links."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeAlias
from uuid import uuid4

from memory_context.exceptions import InvalidArgumentError
from memory_context.runtime.atomic_file import replace_in

SUFFIX = ".json"
STATE = ".memory-context"
FILE_MODE = 0o644
DIRECTORY_MODE = 0o755
_DRAFT = ".tmp"
# Only names of just this length are removed as drafts: a person's own .tmp files stay.
_DRAFT_LENGTH = len(f".{uuid4().hex}{_DRAFT}")
# O_NOFOLLOW at every step: a link in the folder must not lead the store out of it.
_BELOW = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

Signature: TypeAlias = tuple[int, ...]
"""Inode, size and times of a file, which tell whether it changed; empty for what is not a plain file."""


class MemoryFolder:
    """The files of one folder, by their paths from it, with "/" between the names.

    Args:
        path: Where it is.
        file_mode: Of new files, before the process's umask.
        directory_mode: Of new directories, before the process's umask.

    Raises:
        InvalidArgumentError: A mode gives others more than 0644 and 0755 do, or the owner too little.
    """

    def __init__(
        self, path: Path, file_mode: int = FILE_MODE, directory_mode: int = DIRECTORY_MODE
    ) -> None:
        self.path = path
        self._file_mode = _checked_mode(file_mode, widest=FILE_MODE, least=0o600)
        self._directory_mode = _checked_mode(directory_mode, widest=DIRECTORY_MODE, least=0o700)

    def scan(self) -> dict[str, Signature]:
        """Return every JSON file and every link by its path. Hidden ones are left out, and no link is followed.

        Raises:
            OSError: A folder cannot be read.
        """
        signatures: dict[str, Signature] = {}
        with suppress(FileNotFoundError), self._opened(()) as directory:
            _scan(directory, "", signatures)
        return signatures

    def read(self, path: str) -> bytes:
        """Return a file's bytes.

        Raises:
            OSError: It cannot be read, or is not a plain file.
        """
        folders, name = _split(path)
        # O_NONBLOCK: opening a pipe that somebody put there must not wait for its other end.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        with self._opened(folders) as directory:
            handle = os.open(name, flags, dir_fd=directory)
        with os.fdopen(handle, "rb") as file:
            # Asked of the opened file: the name may lead to another one by now.
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise OSError(errno.EINVAL, "not a plain file", path)
            return file.read()

    def signature(self, path: str) -> Signature | None:
        """Return what tells whether a file changed; None if there is none."""
        folders, name = _split(path)
        try:
            with self._opened(folders) as directory:
                return _signature(os.stat(name, dir_fd=directory, follow_symlinks=False))
        except (FileNotFoundError, NotADirectoryError):
            return None

    def write(self, path: str, data: bytes) -> Signature:
        """Replace a file, or make it, in one step: a crash leaves the old one or the new one.

        Raises:
            OSError: It cannot be written.
        """
        folders, name = _split(path)
        with self._opened(folders, make=True) as directory:
            replace_in(directory, name, data, self._file_mode, f".{uuid4().hex}{_DRAFT}")
            return _signature(os.stat(name, dir_fd=directory, follow_symlinks=False))

    def append(self, path: str, lines: bytes) -> None:
        """Add whole lines to a file; a line that a crash cut off before is ended first."""
        folders, name = _split(path)
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        with self._opened(folders, make=True) as directory:
            handle = os.open(name, flags, self._file_mode, dir_fd=directory)
        with os.fdopen(handle, "r+b", buffering=0) as file:
            size = file.seek(0, os.SEEK_END)
            # A crash left half a line; without this the new one would be glued to it and both be
            # lost.
            if size > 0 and os.pread(handle, 1, size - 1) != b"\n":
                lines = b"\n" + lines
            file.write(lines)
            os.fsync(handle)

    def remove(self, path: str) -> None:
        """Remove a file, and the folders that are empty then; a file that is gone already is not an error."""
        folders, name = _split(path)
        with suppress(FileNotFoundError, NotADirectoryError), self._opened(folders) as directory:
            os.unlink(name, dir_fd=directory)
        while folders:
            emptied = folders.pop()
            try:
                with self._opened(folders) as directory:
                    # Fails where the folder holds something else, and so ends the walk upwards.
                    os.rmdir(emptied, dir_fd=directory)
            except OSError:
                return

    def remove_drafts(self) -> None:
        """Remove the half-written files that a crash left. Only for the process that holds the lock."""
        for _, _, names, directory in os.fwalk(self.path):
            for name in names:
                is_ours = name.startswith(".") and name.endswith(_DRAFT)
                if is_ours and len(name) == _DRAFT_LENGTH:
                    with suppress(OSError):
                        os.unlink(name, dir_fd=directory)

    def open_state(self, name: str) -> int:
        """Open a file of the store's own, which is made if it is missing, and return its handle."""
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        with self._opened([STATE], make=True) as directory:
            return os.open(name, flags, self._file_mode, dir_fd=directory)

    @contextmanager
    def _opened(self, folders: Sequence[str], *, make: bool = False) -> Generator[int]:
        """Open a folder below this one, walked to without following links, and yield its handle."""
        if make:
            # Made one by one: `mkdir(parents=True)` gives its mode to the last folder only.
            missing = [path for path in (self.path, *self.path.parents) if not path.exists()]
            for path in reversed(missing):
                path.mkdir(self._directory_mode, exist_ok=True)
        handle = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for name in folders:
                if make:
                    # Another thread may make the same folder at this moment.
                    with suppress(FileExistsError):
                        os.mkdir(name, self._directory_mode, dir_fd=handle)
                inner = os.open(name, _BELOW, dir_fd=handle)
                os.close(handle)
                handle = inner
            yield handle
        finally:
            os.close(handle)


def _checked_mode(mode: int, *, widest: int, least: int) -> int:
    is_too_wide = mode & ~widest
    # The owner must be able to read back what was written.
    is_too_strict = mode & least != least
    if is_too_wide or is_too_strict:
        raise InvalidArgumentError(
            f"the mode {mode:04o} is wider than {widest:04o}, or shuts its owner out; give {least:04o} to {widest:04o}"
        )
    return mode


def _split(path: str) -> tuple[list[str], str]:
    *folders, name = path.split("/")
    return folders, name


def _signature(status: os.stat_result) -> Signature:
    if not stat.S_ISREG(status.st_mode):
        return ()
    # An editor that keeps the time, or a rewrite of equal length, still changes inode or ctime.
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _scan(directory: int, above: str, signatures: dict[str, Signature]) -> None:
    """Add the files of a folder, and of those below it, to *signatures*. A file may vanish meanwhile."""
    folders: list[str] = []
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
            elif entry.name.endswith(SUFFIX) or entry.is_symlink():
                with suppress(FileNotFoundError):
                    status = entry.stat(follow_symlinks=False)
                    signatures[above + entry.name] = _signature(status)
    for name in folders:
        with suppress(FileNotFoundError, NotADirectoryError):
            handle = os.open(name, _BELOW, dir_fd=directory)
            try:
                _scan(handle, f"{above}{name}/", signatures)
            finally:
                os.close(handle)
