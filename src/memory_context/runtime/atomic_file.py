"""Write files that take their place only when they are complete."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4


@contextmanager
def draft_of(path: Path) -> Generator[Path]:
    """Yield the path of a file beside *path* that replaces it at the end, and is removed after an error.

    Raises:
        OSError: It cannot be written; the error names *path*, not the file beside it.
    """
    # In the same folder: a rename is atomic only within one file system.
    draft = path.with_name(f".{uuid4().hex}.tmp")
    try:
        try:
            yield draft
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        if error.filename in (draft, str(draft)):
            raise type(error)(error.errno, error.strerror, str(path)) from error
        raise


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
    # Also after Ctrl-C: nobody else removes the draft before the next start.
    except BaseException:
        with suppress(OSError):
            os.unlink(draft, dir_fd=directory)
        raise
