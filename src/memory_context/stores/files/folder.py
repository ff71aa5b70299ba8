"""A folder of JSON files, and nothing outside it: every path is walked from the folder's own handle, without links."""

from __future__ import annotations

import errno
import os
import stat
import time
import unicodedata
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TypeAlias
from urllib.parse import unquote
from uuid import uuid4

from memory_context.exceptions import InvalidArgumentError

SUFFIX = ".json"
STATE = ".memory-context"
DRAFT = ".tmp"
FILE_MODE = 0o644
DIRECTORY_MODE = 0o755
# A file that is changed twice within a tick of the file system's clock looks unchanged. Linux ticks every 1 to 10 ms.
SETTLED_NS = 100_000_000
LONGEST_NAME = 120
LONGEST_FOLDER = 1000
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-. ")
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

Signature: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Seen:
    """A file as it was when it was read.

    Attributes:
        signature: Inode, size and times; empty for what is no plain file.
        settled: Whether it was old enough then for its times to tell of the next change.
        digest: Of its bytes.
    """

    signature: Signature
    settled: bool
    digest: bytes


def folder_of(category: str | None) -> tuple[str, ...]:
    """The folders that stand for a category. Each of its parts is one name; what no name can hold is written as %XX.

    No part can be ``..``, empty or hidden, whatever the category. What is too long ends with a piece of its hash.
    """
    if category is None:
        return ()
    parts = tuple(_short(_escaped(part), LONGEST_NAME) for part in category.split("/"))
    long = len("/".join(parts)) > LONGEST_FOLDER
    return (_short("%2F".join(parts), LONGEST_NAME),) if long else parts


def _escaped(part: str) -> str:
    name = "".join(
        char if char in _PLAIN or (char.isalnum() and not char.isascii()) else _percent(char)
        for char in part
    )
    edge = ". "
    if name[:1] in edge:
        name = _percent(name[:1]) + name[1:] if name else "%"
    return name[:-1] + _percent(name[-1]) if name[-1] in edge else name


def _percent(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "surrogatepass"))


def _short(name: str, longest: int) -> str:
    data = name.encode("utf-8", "surrogatepass")
    if len(data) <= longest:
        return name
    digest = blake2b(data, digest_size=12).hexdigest()
    return data[: longest - 25].decode("utf-8", "ignore").rstrip("%. ") + "~" + digest


def category_in(folders: Sequence[str], said: str | None) -> str | None:
    """The category of a file in these folders. They decide, unless they are how `said` is written on this disk."""
    if _alike("/".join(folder_of(said))) == _alike("/".join(folders)):
        return said
    return "/".join("" if name == "%" else unquote(name) for name in folders) if folders else None


def _alike(path: str) -> str:
    """What file systems that ignore case or normalise Unicode take for the same."""
    return unicodedata.normalize("NFC", path).casefold()


class Folder:
    """The files of one folder.

    Args:
        path: Where it is.
        file_mode: Of new files, before the process's umask.
        directory_mode: Of new directories, before the process's umask.

    Raises:
        InvalidArgumentError: A mode that gives others more than 0644 and 0755 do, or its owner too little.
    """

    def __init__(
        self, path: Path, file_mode: int = FILE_MODE, directory_mode: int = DIRECTORY_MODE
    ) -> None:
        self.path = path
        self._file_mode = _checked(file_mode, FILE_MODE, 0o600)
        self._directory_mode = _checked(directory_mode, DIRECTORY_MODE, 0o700)

    def scan(self) -> dict[str, Signature]:
        """Every JSON file below the folder by its path from here. What is hidden is left out, no link is followed.

        Raises:
            OSError: A folder cannot be read.
        """
        try:
            root = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            return {}
        found: dict[str, Signature] = {}
        _scan(root, "", found)
        return found

    def read(self, path: str) -> tuple[bytes, Seen]:
        """A file's bytes, and what to know it by.

        Raises:
            OSError: It cannot be read, or is no plain file.
        """
        with self._opened(path.split("/")[:-1]) as directory:
            handle = os.open(
                _name(path),
                os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK,
                dir_fd=directory,
            )
        with os.fdopen(handle, "rb") as file:
            facts = os.fstat(handle)
            if not stat.S_ISREG(facts.st_mode):
                raise OSError(errno.EINVAL, "no plain file", path)
            return _with_seen(file.read(), facts)

    def signature(self, path: str) -> Signature | None:
        """What tells whether a file changed; None if it is gone."""
        try:
            with self._opened(path.split("/")[:-1]) as directory:
                return _signature(os.stat(_name(path), dir_fd=directory, follow_symlinks=False))
        except (FileNotFoundError, NotADirectoryError):
            return None

    def write(self, path: str, data: bytes) -> Seen:
        """Put `data` in the place of a file at once, directories made; a crash leaves the old file or the new one.

        Raises:
            OSError: It cannot be written.
        """
        with self._opened(path.split("/")[:-1], make=True) as directory:
            draft = f".{uuid4().hex}{DRAFT}"
            try:
                self._draft(draft, data, directory)
                os.rename(draft, _name(path), src_dir_fd=directory, dst_dir_fd=directory)
            except BaseException:
                with suppress(OSError):
                    os.unlink(draft, dir_fd=directory)
                raise
            return _with_seen(data, os.stat(_name(path), dir_fd=directory, follow_symlinks=False))[
                1
            ]

    def append(self, path: str, data: bytes) -> None:
        """Add whole lines to a file; a line that a crash cut off before is ended first."""
        with self._opened(path.split("/")[:-1], make=True) as directory:
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
            handle = os.open(_name(path), flags, self._file_mode, dir_fd=directory)
            with os.fdopen(handle, "r+b", buffering=0) as file:
                size = file.seek(0, os.SEEK_END)
                torn = size > 0 and os.pread(handle, 1, size - 1) != b"\n"
                file.write(b"\n" * torn + data)
                os.fsync(handle)

    def remove(self, path: str) -> None:
        """Remove a file, and the folders that are empty then; a file that is gone already is no error."""
        folders = path.split("/")[:-1]
        with suppress(FileNotFoundError, NotADirectoryError), self._opened(folders) as directory:
            os.unlink(_name(path), dir_fd=directory)
        while folders:
            name = folders.pop()
            try:
                with self._opened(folders) as directory:
                    os.rmdir(name, dir_fd=directory)
            except OSError:
                return

    def sweep(self) -> None:
        """Remove the drafts that a crash left. Only for who holds the lock."""
        for folder, _, names, directory in os.fwalk(self.path):
            for name in names:
                if name.startswith(".") and name.endswith(DRAFT) and len(name) == 33 + len(DRAFT):
                    with suppress(OSError):
                        os.unlink(name, dir_fd=directory)
            del folder

    def open_state(self, name: str) -> int:
        """A handle on a file of the store's own, made if it is missing."""
        with self._opened([STATE], make=True) as directory:
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            return os.open(name, flags, self._file_mode, dir_fd=directory)

    @contextmanager
    def _opened(self, folders: Sequence[str], *, make: bool = False) -> Generator[int]:
        """A handle on a folder below this one, walked to without following links."""
        if make:
            self._make()
        handle = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for name in folders:
                below = self._below(handle, name, make=make)
                os.close(handle)
                handle = below
            yield handle
        finally:
            os.close(handle)

    def _make(self) -> None:
        """Make the folder itself, and those above it."""
        missing = [path for path in (self.path, *self.path.parents) if not path.exists()]
        for path in reversed(missing):
            path.mkdir(self._directory_mode, exist_ok=True)

    def _below(self, handle: int, name: str, *, make: bool) -> int:
        if make:
            with suppress(FileExistsError):
                os.mkdir(name, self._directory_mode, dir_fd=handle)
        return os.open(name, _DIRECTORY, dir_fd=handle)

    def _draft(self, name: str, data: bytes, directory: int) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(name, flags, self._file_mode, dir_fd=directory), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())


def _checked(mode: int, widest: int, least: int) -> int:
    if mode & ~widest or mode & least != least:
        message = f"the mode {mode:04o} is wider than {widest:04o}, or shuts its owner out; give {least:04o} to {widest:04o}"
        raise InvalidArgumentError(message)
    return mode


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _signature(facts: os.stat_result) -> Signature:
    if not stat.S_ISREG(facts.st_mode):
        return ()
    return facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns


def _with_seen(data: bytes, facts: os.stat_result) -> tuple[bytes, Seen]:
    settled = time.time_ns() - max(facts.st_mtime_ns, facts.st_ctime_ns) > SETTLED_NS
    return data, Seen(_signature(facts), settled, blake2b(data, digest_size=16).digest())


def _scan(handle: int, above: str, found: dict[str, Signature]) -> None:
    """Note the files of a folder and of those below it; closes the handle."""
    try:
        below = list[str]()
        with os.scandir(handle) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    below.append(entry.name)
                elif entry.name.endswith(SUFFIX) or entry.is_symlink():
                    with suppress(FileNotFoundError):
                        found[above + entry.name] = _signature(entry.stat(follow_symlinks=False))
        for name in below:
            with suppress(FileNotFoundError, NotADirectoryError):
                _scan(os.open(name, _DIRECTORY, dir_fd=handle), f"{above}{name}/", found)
    finally:
        os.close(handle)
