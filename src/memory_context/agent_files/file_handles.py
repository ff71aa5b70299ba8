"""Access to files and folders by handles (file descriptors). Each name is opened relative to its folder's handle.

No link is ever followed. A path that was checked may lead elsewhere when it is used, if somebody has replaced a folder
by a link in between. A handle always refers to the folder that was opened. So the functions here take no paths, but
the handle of a folder and the names (`Parts`) that lead on from it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import stat
import sys
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from memory_context.agent_files.filenames import DEEPEST, OWN_PREFIX
from memory_context.exceptions import FileOperationError, InvalidPathError
from memory_context.runtime.file_locks import lock
from memory_context.runtime.files_replaced_safely import replace_in

if sys.platform != "win32":
    _FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
    # O_NONBLOCK: if somebody put a named pipe there, opening it must not wait for its other end.
    _FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
    _LOCK = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW

# For the owner only, because an agent's notes may be private.
FOLDER_MODE = 0o700
FILE_MODE = 0o600
TRIES = 10
Parts: TypeAlias = tuple[str, ...]
# The handles of the locks that are held. A forked child has copies of them, and a lock is released only once all copies
# are closed.
_held_locks: set[int] = set()


def _release_held_locks() -> None:
    """Close, in a forked child, its copies of the locks that the parent's threads hold."""
    while _held_locks:
        os.close(_held_locks.pop())


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_release_held_locks)


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file or a folder of an agent.

    Attributes:
        path: Its path relative to the agent's folder, such as ``notes/today.md``.
        size: Its size in bytes; 0 for a folder.
        is_folder: Whether it is a folder.
    """

    path: str
    size: int
    is_folder: bool = False


def supported() -> bool:
    """Return whether this platform can open files relative to a folder's handle, and lock them (Windows cannot)."""
    needed = {os.open, os.stat, os.mkdir, os.rename, os.unlink, os.rmdir}
    return sys.platform != "win32" and needed <= os.supports_dir_fd and os.scandir in os.supports_fd


@contextlib.contextmanager
def folder(start: int, parts: Sequence[str], *, make: bool = False) -> Generator[int]:
    """Yield the handle of the folder that *parts* leads to from the folder *start*.

    Args:
        start: The handle of a folder.
        parts: The names on the way.
        make: Whether to make missing folders.

    Raises:
        FileNotFoundError: There is no such folder.
        NotADirectoryError: One of the names is a file, and *make* is false.
        FileOperationError: One of the names is a file, and *make* is true.
        InvalidPathError: One of the names is a link.
    """
    # A copy, so that the caller's handle stays open when the first step closes this one.
    handle = os.dup(start)
    try:
        for name in parts:
            inner = _step(handle, name, make=make)
            os.close(handle)
            handle = inner
        yield handle
    finally:
        os.close(handle)


@contextlib.contextmanager
def _parent(start: int, parts: Parts, *, make: bool = False) -> Generator[tuple[int, str]]:
    """Yield the handle of the folder that holds the last of *parts*, opened as by `folder`, and that last name."""
    *above, name = parts
    with folder(start, above, make=make) as parent:
        yield parent, name


def _step(handle: int, name: str, *, make: bool) -> int:
    """Return the handle of the folder *name*. Attempts are limited: somebody may remove it each time it is made."""
    for _ in range(TRIES):
        try:
            return os.open(name, _FOLDER, dir_fd=handle)
        except FileNotFoundError:
            if not make:
                raise
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, FOLDER_MODE, dir_fd=handle)
            _sync(handle)
        except OSError as error:
            if error.errno == errno.ENOTDIR and not make and _is_file(handle, name):
                raise
            # With O_NOFOLLOW, opening a link fails with ELOOP on Linux and macOS, and with EMLINK on FreeBSD.
            if error.errno in {errno.ENOTDIR, errno.ELOOP, errno.EMLINK}:
                raise _not_a_folder(handle, name) from error
            raise
    raise FileOperationError(f"the folder {name!r} vanished whenever it was made")


def _is_file(handle: int, name: str) -> bool:
    return stat.S_ISREG(_status(handle, name).st_mode)


def _status(handle: int, name: str) -> os.stat_result:
    return os.stat(name, dir_fd=handle, follow_symlinks=False)


def _not_a_folder(handle: int, name: str) -> FileOperationError | InvalidPathError:
    """Return the error to raise for *name*, which is not a folder of the agent."""
    if _is_file(handle, name):
        return FileOperationError(f"{name!r} is a file, not a folder")
    return InvalidPathError(f"{name!r} is a link or not a folder of the agent, and is not followed")


def look(start: int, parts: Parts) -> os.stat_result | None:
    """Return the status of a file or folder of the agent; None if there is none.

    Raises:
        InvalidPathError: It is a symbolic link, a file with a second name (a hard link), a pipe or a device.
    """
    try:
        with _parent(start, parts) as (parent, name):
            return _own_status(parent, name)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _own_status(parent: int, name: str) -> os.stat_result:
    """Return the status of a file or folder of the agent.

    Raises:
        FileNotFoundError: There is none.
        InvalidPathError: See `look`.
    """
    status = _status(parent, name)
    _refuse_foreign(status, name)
    return status


def _refuse_foreign(status: os.stat_result, name: str) -> None:
    """Refuse anything but folders and regular files with at most one name.

    A file that was just replaced no longer has a name.

    Raises:
        InvalidPathError: It is something else.
    """
    if is_folder(status):
        return
    if not stat.S_ISREG(status.st_mode):
        raise InvalidPathError(f"{name!r} is a link, a pipe or a device, and is not opened")
    # Writing through a hard link would change a file outside the agent's folder.
    if status.st_nlink > 1:
        raise InvalidPathError(
            f"{name!r} has another name elsewhere (a hard link), and is not opened"
        )


def is_folder(status: os.stat_result | None) -> bool:
    """Return whether *status*, which `look` returned, is that of a folder."""
    return status is not None and stat.S_ISDIR(status.st_mode)


def read(start: int, parts: Parts, limit: int) -> bytes:
    """Return the content of a file. It is consistent, even if the file is replaced meanwhile.

    Raises:
        FileNotFoundError: There is no such file.
        FileOperationError: It has more than *limit* bytes.
        InvalidPathError: It is not a file of the agent; see `look`.
    """
    with _parent(start, parts) as (parent, name):
        _refuse_unreadable(_status(parent, name), name)
        with open(name, "rb", opener=lambda path, _: _opened(parent, path)) as file:
            # Checked again on the open file, because somebody may have replaced it in between.
            _refuse_unreadable(os.fstat(file.fileno()), name)
            # One byte more than allowed shows that the file is too large, without reading all of it.
            data = file.read(limit + 1)
    if len(data) > limit:
        raise FileOperationError(
            f"the file has more than the {limit} bytes that all files of the agent may have"
        )
    return data


def _opened(parent: int, name: str) -> int:
    try:
        return os.open(name, _FILE, dir_fd=parent)
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.EMLINK, errno.ENXIO}:
            raise _not_a_folder(parent, name) from error
        raise


def _refuse_unreadable(status: os.stat_result, name: str) -> None:
    _refuse_foreign(status, name)
    if is_folder(status):
        raise InvalidPathError(f"{name!r} is a directory, not a file")


def replace(start: int, parts: Parts, data: bytes) -> None:
    """Replace the content of a file by *data* atomically: readers see the old or the new content, even after a crash."""
    with _parent(start, parts, make=True) as (parent, name):
        replace_in(parent, name, data, FILE_MODE, _temporary_name())
        _sync(parent)


def _temporary_name() -> str:
    return OWN_PREFIX + secrets.token_hex(8)


def _sync(handle: int) -> None:
    """Flush a folder's list of names to the disk."""
    with contextlib.suppress(OSError):  # some network file systems do not support it, nor need it
        os.fsync(handle)


def remove(start: int, parts: Parts) -> None:
    """Delete a file, or a folder with everything in it. A folder vanishes atomically.

    Raises:
        FileNotFoundError: There is no such file or folder.
        InvalidPathError: It is not a file or folder of the agent; see `look`.
    """
    with _parent(start, parts) as (parent, name):
        if is_folder(_own_status(parent, name)):
            doomed = _temporary_name()
            # Renaming it first is atomic, so nobody ever sees it half deleted.
            os.rename(name, doomed, src_dir_fd=parent, dst_dir_fd=start)
            _sync(start)
            clear_away(start, doomed)
        else:
            os.unlink(name, dir_fd=parent)
        _sync(parent)


def clear_away(parent: int, name: str) -> None:
    """Delete a temporary file or folder of `replace` or `remove`, without following links in it."""
    with contextlib.suppress(OSError):
        os.unlink(name, dir_fd=parent)
        return
    # Folders that another program nested a thousand levels deep remain. Under this name they are never listed.
    with contextlib.suppress(RecursionError):
        shutil.rmtree(name, dir_fd=parent, ignore_errors=True)


def move(start: int, old: Parts, new: Parts) -> None:
    """Move the file or folder *old* to *new*, and make missing folders on the way. The caller checks that *new* is free.

    Raises:
        FileNotFoundError: There is no *old*.
        InvalidPathError: *old* is not a file or folder of the agent; see `look`.
    """
    with (
        _parent(start, old) as (source, old_name),
        _parent(start, new, make=True) as (target, new_name),
    ):
        _own_status(source, old_name)  # raises if it is not the agent's
        os.rename(old_name, new_name, src_dir_fd=source, dst_dir_fd=target)
        _sync(source)
        _sync(target)


def walk(handle: int, before: Parts = (), *, sweep: bool = False) -> Iterator[FileEntry]:
    """Yield the files and folders in a folder, at any depth, sorted by name. Links, pipes and devices are left out.

    Args:
        handle: The handle of a folder.
        before: The names that lead to it.
        sweep: Whether to delete temporary files that a killed process left behind. Only for the holder of the agent's
            lock.

    Raises:
        FileOperationError: Folders are nested too deeply.
    """
    if len(before) > DEEPEST:
        raise FileOperationError(f"folders are nested deeper than {DEEPEST}, below {before[0]!r}")
    for name, status in _entries_of(handle, sweep=sweep):
        path = (*before, name)
        if is_folder(status):
            yield FileEntry("/".join(path), 0, is_folder=True)
            with (
                contextlib.suppress(FileNotFoundError, InvalidPathError),
                folder(handle, (name,)) as inner,
            ):
                yield from walk(inner, path, sweep=sweep)
        elif stat.S_ISREG(status.st_mode) and status.st_nlink <= 1:
            yield FileEntry("/".join(path), status.st_size)


def _entries_of(handle: int, *, sweep: bool) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the names in a folder, sorted, with their statuses; not those of temporary files, which *sweep* deletes."""
    with os.scandir(handle) as entries:
        names = sorted(entry.name for entry in entries)
    for name in names:
        if name.startswith(OWN_PREFIX):
            if sweep:
                clear_away(handle, name)
            continue
        with contextlib.suppress(FileNotFoundError):
            yield name, _status(handle, name)


@contextlib.contextmanager
def locked(parent: int, name: str, seconds: float) -> Generator[None]:
    """Hold the lock file *name* exclusively. The system releases it when its holder dies.

    Raises:
        FileOperationError: Another thread or process held it for *seconds*.
    """
    handle = os.open(name, _LOCK, FILE_MODE, dir_fd=parent)
    _held_locks.add(handle)
    try:
        try:
            lock(handle, seconds)
        except BlockingIOError as error:
            raise FileOperationError(
                f"another writer holds the lock of the agent {name!r}; try again"
            ) from error
        yield
    finally:
        _held_locks.discard(handle)
        os.close(handle)
