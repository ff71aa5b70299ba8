"""Describers that users register for the outputs of their own tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from memory_context.model.checked_arguments import check_arguments
from memory_context.model.one_line import one_line
from memory_context.runtime import log_events

Describer: TypeAlias = Callable[[str], str | None]

_describers: dict[str, Describer] = {}


def register(tool: str, function: Describer) -> None:
    """Let `function` describe the outputs of `tool` in this process; it replaces an earlier function.

    The function gets the text as it is stored, and returns a line, or None for the default one. The line is made to fit
    a reference: it is cut to 80 characters, and square brackets are replaced. If the function raises an error or returns
    anything else, the default line is used and a warning is logged. Its time is not limited, so it should read only the
    beginning and the end of a large text.

    Raises:
        InvalidArgumentError: `function` cannot be called.
    """
    check_arguments(function=function)
    _describers[tool] = function


def unregister(tool: str) -> None:
    """Describe the outputs of `tool` with the default line again."""
    _describers.pop(tool, None)


def registered_line(tool: str, text: str) -> str | None:
    """Return what the function registered for `tool` returns, as one line; None if the default line is to be used."""
    function = _describers.get(tool)
    if function is None:
        return None
    try:
        result: object = function(text)
    except Exception as error:  # noqa: BLE001 - whatever a user's function raises, the text is stored
        log_events.DESCRIBER_FAILED.log(error, tool=tool)
        return None
    if result is None:
        return None
    line = one_line(result) if isinstance(result, str) else ""
    if not line:
        log_events.DESCRIBER_FAILED.log(TypeError(), tool=tool)
    return line or None
