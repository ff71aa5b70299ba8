"""The base class of objects that are closed at the end of a ``with`` statement."""

from __future__ import annotations

from typing import Self


class ClosedAtExit:
    """Calls its `close` at the end of a ``with`` statement."""

    __slots__ = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Release what is held."""
