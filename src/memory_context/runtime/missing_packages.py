"""Name the extra to install if a package that a module needs is missing."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from memory_context.exceptions import MissingDependencyError


@contextmanager
def needing(*packages: str, otherwise: str) -> Generator[None]:
    """Turn the failed import of one of *packages* inside the block into an error with the message *otherwise*.

    Raises:
        MissingDependencyError: One of the packages is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in packages:
            raise
        raise MissingDependencyError(otherwise) from error
