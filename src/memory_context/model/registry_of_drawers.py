"""Values that notebooks show: their base class, and the registry of drawers that `memory_context.display` fills."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, TypeAlias

Drawer: TypeAlias = Callable[[Any], str]

_drawers: dict[type, dict[str, Drawer]] = {}
_load: Callable[[], object] | None = None


def register(shown: type, *, text: Drawer, html: Drawer) -> None:
    """Draw values of the type *shown* with *text* in a terminal and with *html* in a notebook."""
    _drawers[shown] = {"text/plain": text, "text/html": html}


def load_with(load: Callable[[], object]) -> None:
    """Call *load*, which registers drawers, before each value that is shown.

    Drawing needs most of the library, which a program that shows nothing need not import.
    """
    global _load  # noqa: PLW0603 - one registry for the process
    _load = load


def _drawers_of(shown: type) -> dict[str, Drawer] | None:
    if _load is not None:
        _load()
    for base in shown.__mro__:
        if base in _drawers:
            return _drawers[base]
    return None


class Displayed:
    """Shows itself as text and as HTML through IPython's protocol of rich display."""

    __slots__ = ()

    def _repr_mimebundle_(
        self, include: Collection[str] | None = None, **_: object
    ) -> dict[str, str]:
        """Return the value by media type; only its `repr` as text if nothing draws it.

        Args:
            include: The media types that are wanted; all if empty or None.
            **_: Other arguments of IPython, which applies them itself.
        """
        value = self._drawn_as()
        drawers = _drawers_of(type(value))
        if drawers is None:
            return {"text/plain": repr(self)}
        wanted = [name for name in drawers if not include or name in include]
        return {name: drawers[name](value) for name in wanted}

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ANN401, FBT001 - IPython's protocol
        """Print the value as text: IPython prints lists in this way. Inside another value, print one line."""
        text = self._repr_mimebundle_(include=["text/plain"])["text/plain"]
        is_nested = cycle or len(printer.stack) > 1
        if is_nested:
            text = text.partition("\n")[0]
        printer.text(text)

    def _drawn_as(self) -> object:
        """Return what is drawn in place of the value: by default itself."""
        return self
