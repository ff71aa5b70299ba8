"""Access to the JSON files of one folder, and to nothing outside it.

Every path is opened step by step from the folder's own handle, without following links.
"""

from __future__ import annotations

import errno
import fnmatch
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeAlias
from uuid import uuid4

from memory_context.exceptions import InvalidArgumentError
from memory_context.runtime.files_replaced_safely import replace_in

SUFFIX = ".json"
STATE = ".memory-context"
FILE_MODE = 0o644
DIRECTORY_MODE = 0o755
_DRAFT = ".tmp"
# Only names of exactly this form are removed as drafts, so that a person's own .tmp files stay.
_DRAFTS = f".{'?' * 32}{_DRAFT}"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# O_NOFOLLOW at every step: a link in the folder must not lead the store out of it.
_BELOW = os.O_NOFOLLOW | os.O_CLOEXEC

Signature: TypeAlias = tuple[int, ...]
"""Inode, size and times of a file, by which a change is noticed; empty for anything but a regular file."""


class MemoryFolder:
    """The files of one folder. Each is named by its path relative to the folder, with "/" between the names.

    Args:
        path: The folder.
        file_mode: The mode of new files, before the process's umask is applied.
        directory_mode: The mode of new directories, before the process's umask is applied.

    Raises:
        InvalidArgumentError: A mode is wider than 0644 or 0755, or denies the owner access.
    """

    def __init__(
        self, path: Path, file_mode: int = FILE_MODE, directory_mode: int = DIRECTORY_MODE
    ) -> None:
        self.path = path
        self._file_mode = _checked_mode(file_mode, widest=FILE_MODE, least=0o600)
        self._directory_mode = _checked_mode(directory_mode, widest=DIRECTORY_MODE, least=0o700)

    def scan(self) -> dict[str, Signature]:
        """Return the signatures of all JSON files and links by their paths. Links are not followed.

        Hidden files and folders are left out.

        Raises:
            OSError: A folder cannot be read.
        """
        signatures: dict[str, Signature] = {}
        with suppress(FileNotFoundError), self._opened("") as (directory, _):
            _scan(directory, "", signatures)
        return signatures

    def read(self, path: str) -> bytes:
        """Return a file's bytes.

        Raises:
            OSError: It cannot be read, or is not a plain file.
        """
        # O_NONBLOCK: if somebody put a named pipe there, opening it must not wait for its other end.
        flags = _BELOW | os.O_RDONLY | os.O_NONBLOCK
        with self._opened(path) as (directory, name):
            handle = os.open(name, flags, dir_fd=directory)
        with os.fdopen(handle, "rb") as file:
            # Checked on the open file, because the name may refer to another one by now.
            if not _signature(os.fstat(handle)):
                raise OSError(errno.EINVAL, "not a plain file", path)
            return file.read()

    def signature(self, path: str) -> Signature | None:
        """Return the signature of a file; None if there is no such file."""
        try:
            with self._opened(path) as (directory, name):
                return _signature_of(name, directory)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def write(self, path: str, data: bytes) -> Signature:
        """Replace or make a file atomically: a crash leaves the old version or the new one.

        Raises:
            OSError: It cannot be written.
        """
        draft = f".{uuid4().hex}{_DRAFT}"
        with self._opened(path, make=True) as (directory, name):
            replace_in(directory, name, data, self._file_mode, draft)
            return _signature_of(name, directory)

    def remove(self, path: str) -> None:
        """Remove a file, and the folders that this leaves empty. It is not an error if the file is gone already."""
        is_gone = suppress(FileNotFoundError, NotADirectoryError)
        with is_gone, self._opened(path) as (directory, name):
            os.unlink(name, dir_fd=directory)
        # It fails at the first folder that is not empty, which ends the walk upwards.
        with suppress(OSError):
            while "/" in path:
                path, _ = path.rsplit("/", 1)
                with self._opened(path) as (directory, name):
                    os.rmdir(name, dir_fd=directory)

    def remove_drafts(self) -> None:
        """Remove the half-written files that a crash left. Only while no other process writes."""
        for _, _, names, directory in os.fwalk(self.path):
            for name in fnmatch.filter(names, _DRAFTS):
                with suppress(OSError):
                    os.unlink(name, dir_fd=directory)

    def open_state(self, name: str) -> int:
        """Open a file in the store's state folder (``.memory-context``), made if missing, and return its descriptor."""
        flags = _BELOW | os.O_RDWR | os.O_CREAT
        with self._opened(f"{STATE}/{name}", make=True) as (directory, name_there):
            return os.open(name_there, flags, self._file_mode, dir_fd=directory)

    @contextmanager
    def _opened(self, path: str, *, make: bool = False) -> Generator[tuple[int, str]]:
        """Open the folder of a file, without following links; yield the folder's descriptor and the file's name."""
        *folders, file_name = path.split("/")
        if make:
            # One by one, because `mkdir(parents=True)` applies the mode to the last folder only.
            for folder in reversed((self.path, *self.path.parents)):
                if not folder.exists():
                    folder.mkdir(self._directory_mode, exist_ok=True)
        # This one may be a link: it is the folder that the user has named.
        handle = os.open(self.path, _FOLDER)
        try:
            for name in folders:
                if make:
                    # It may exist already, or another thread may make it at this moment.
                    with suppress(FileExistsError):
                        os.mkdir(name, self._directory_mode, dir_fd=handle)
                inner = os.open(name, _FOLDER | _BELOW, dir_fd=handle)
                os.close(handle)
                handle = inner
            yield handle, file_name
        finally:
            os.close(handle)


def _checked_mode(mode: int, *, widest: int, least: int) -> int:
    is_too_wide = mode & ~widest
    # The owner must be able to read back what was written.
    if is_too_wide or mode & least != least:
        raise InvalidArgumentError(
            f"the mode {mode:04o} is wider than {widest:04o}, or denies its owner access; give {least:04o} to"
            f" {widest:04o}"
        )
    return mode


def _signature_of(name: str, directory: int) -> Signature:
    return _signature(os.stat(name, dir_fd=directory, follow_symlinks=False))


def _signature(status: os.stat_result) -> Signature:
    if not stat.S_ISREG(status.st_mode):
        return ()
    # Inode and ctime also change if an editor keeps the mtime, or the new content has the same size.
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _scan(directory: int, above: str, signatures: dict[str, Signature]) -> None:
    """Add the files of a folder and of its subfolders to *signatures*. Files that vanish meanwhile are left out."""
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
            handle = os.open(name, _FOLDER | _BELOW, dir_fd=directory)
            try:
                _scan(handle, f"{above}{name}/", signatures)
            finally:
                os.close(handle)
