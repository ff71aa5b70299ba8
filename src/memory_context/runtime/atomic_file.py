"""Files that take their place once they are complete."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4


@contextmanager
def draft_of(path: Path) -> Generator[Path]:
    """Yield the path of a file beside *path* that replaces it at the end, and is removed after an error."""
    # In the same folder: a rename is atomic only within one file system.
    draft = path.with_name(f".{uuid4().hex}.tmp")
    try:
        yield draft
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
