"""Write files that take their place only when they are complete."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

SQLITE_HEADER = b"SQLite format 3\0"


@contextmanager
def draft_of(path: Path, *, is_database: bool = False) -> Generator[Path]:
    """Yield the path of a file beside *path* that replaces it at the end, and is removed after an error.

    The file beside it exists and is empty. It has the permissions of the old file, unless the caller changes them. If *path*
    is a link, it stays, and the file that it leads to is replaced.

    Args:
        path: The file to write.
        is_database: Whether *path* is to hold a SQLite database. Nothing else may replace one, whose contents would be lost.

    Raises:
        OSError: It cannot be written, for example because it is a folder, a device or a database; the error names *path*,
            not the file beside it.
    """
    target = Path(os.path.realpath(path))
    _check_replaceable(target, path, is_database=is_database)
    # In the same folder: a rename is atomic only within one file system.
    draft = target.with_name(f".{uuid4().hex}.tmp")
    try:
        try:
            draft.touch()
            # Before anything is written, so that nobody else can read it meanwhile.
            if target.exists():
                shutil.copymode(target, draft)
            yield draft
            draft.replace(target)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        if error.filename in (draft, str(draft)):
            raise type(error)(error.errno, error.strerror, str(path)) from error
        raise


def _check_replaceable(target: Path, path: Path, *, is_database: bool) -> None:
    """Check that *target*, to which *path* leads, does not exist, or is a file that may be replaced.

    Raises:
        OSError: It may not be replaced.
    """
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "it is a folder", str(path))
    if not target.exists():
        return
    if not target.is_file():
        raise OSError(errno.EINVAL, "it is a device or a pipe, not a file", str(path))
    with target.open("rb") as file:
        if file.read(len(SQLITE_HEADER)) == SQLITE_HEADER and not is_database:
            message = "it is a SQLite database, whose contents would be lost"
            raise FileExistsError(errno.EEXIST, message, str(path))


def replace_in(directory: int, name: str, data: bytes, mode: int, draft: str) -> None:
    """Make *data* the content of the file *name* in one step: a crash leaves the old file or the new one.

    Args:
        directory: The handle of its folder.
        name: Its name there.
        data: The new content.
        mode: The permissions of the new file, before the process's umask.
        draft: The name that the new file has until it is complete.

    Raises:
        OSError: It cannot be written.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    try:
        handle = os.open(draft, flags, mode, dir_fd=directory)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            # Before the rename, or after a power cut the name may lead to a file without its bytes.
            os.fsync(handle)
        os.rename(draft, name, src_dir_fd=directory, dst_dir_fd=directory)
    # Ctrl-C included: nobody else removes the draft before the next start.
    except BaseException:
        with suppress(OSError):
            os.unlink(draft, dir_fd=directory)
        raise
