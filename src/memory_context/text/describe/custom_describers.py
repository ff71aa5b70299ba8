"""The describers that users register for the outputs of their own tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from memory_context.model.reference import one_line
from memory_context.runtime import events

Describer: TypeAlias = Callable[[str], str | None]

_describers: dict[str, Describer] = {}


def register(tool: str, function: Describer) -> None:
    """Let `function` describe the texts that `tool` makes, in this process, in place of an earlier one.

    The function gets the text as it is stored, and returns a line, or None for the default one. The
    line is brought into the form of a reference: 80 characters, no square brackets. If the function
    raises, or returns anything else, the default line is used and a warning is logged. Nothing
    bounds its time: look at the beginning and the end of a large text only.
    """
    _describers[tool] = function


def unregister(tool: str) -> None:
    """Describe the texts of `tool` by the default line again."""
    _describers.pop(tool, None)


def registered_line(tool: str, text: str) -> str | None:
    """Return the line of the function that is registered for `tool`; None if the default line is to be used."""
    function = _describers.get(tool)
    if function is None:
        return None
    try:
        said: object = function(text)
    except Exception as error:  # noqa: BLE001 - whatever a user's function raises, the text is stored
        events.DESCRIBER_FAILED.log(error, tool=tool)
        return None
    if said is None:
        return None
    line = one_line(said) if isinstance(said, str) else ""
    if not line:
        events.DESCRIBER_FAILED.log(TypeError(), tool=tool)
    return line or None
