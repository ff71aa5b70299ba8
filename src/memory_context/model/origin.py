"""Who a memory comes from, most trusted first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias, get_args

Origin: TypeAlias = Literal["person", "program", "model", "tool", "import"]
"""Who said a text: a person, the program around the agent, a model, a tool's output, or a file that was imported.

A text made of several has the least trusted of their origins: the last in this order. A text of unknown origin
counts as an import.
"""

ORIGINS: tuple[Origin, ...] = get_args(Origin)
PERSON, PROGRAM, MODEL, TOOL, IMPORT = ORIGINS
CONFIRMED = (PERSON, PROGRAM)
"""The origins of memories that nobody needs to confirm."""


def lowest(origins: Iterable[str]) -> Origin:
    """Return the least trusted of *origins*; ``import`` if one of them is unknown, or if there are none."""
    given = list(origins)
    if not given or any(origin not in ORIGINS for origin in given):
        return IMPORT
    return ORIGINS[max(map(ORIGINS.index, given))]
