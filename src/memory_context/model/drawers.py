"""What makes a value show itself in a notebook. How it looks is decided by `memory_context.display`."""

from __future__ import annotations

from collections.abc import Collection
from importlib import import_module
from typing import Any


class Displayed:
    """Shows itself as text and as HTML where IPython's protocol of rich display is spoken.

    What draws it is loaded when it is first shown: a value knows of nothing above it.
    """

    __slots__ = ()

    def _repr_mimebundle_(
        self, include: Collection[str] | None = None, exclude: Collection[str] | None = None
    ) -> dict[str, str]:
        """The value by media type: ``text/plain`` and ``text/html``; see IPython's "Rich display" documentation."""
        draw: Any = import_module("memory_context.display.notebook").mimebundle
        bundle: dict[str, str] = draw(self._drawn_as(), include, exclude)
        return bundle

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ANN401, FBT001 - IPython's protocol
        """The value as text for IPython, which asks lists for it in this way; inside of another value one line."""
        text = self._repr_mimebundle_(include=["text/plain"])["text/plain"]
        printer.text(text.partition("\n")[0] if cycle or len(printer.stack) > 1 else text)

    def _drawn_as(self) -> object:
        """What is drawn for it: itself."""
        return self
