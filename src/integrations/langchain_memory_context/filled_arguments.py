"""The arguments of a tool's call after stored texts have taken the place of references."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class FilledArguments(dict[str, Any]):
    """Arguments with stored texts in place of references, which print as the model wrote them.

    LangChain quotes the arguments of an invalid call in its error, which the model reads. A secret must not get there,
    nor a text that was folded because it is large.
    """

    def __init__(self, filled: Mapping[str, Any], *, as_written: Mapping[str, Any]) -> None:
        super().__init__(filled)
        self.as_written = as_written

    def __repr__(self) -> str:
        """Return the arguments as the model wrote them."""
        return repr(self.as_written)
