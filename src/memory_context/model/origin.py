"""Who a memory comes from, in the order of trust."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias, get_args

Origin: TypeAlias = Literal["person", "program", "model", "tool", "import"]
"""Who said a text: a person, the program around the agent, a model, a tool's output, or a file that was imported.

What is made of several texts has the last of them in this order. What nobody said anything of counts as an import.
"""

ORIGINS: tuple[Origin, ...] = get_args(Origin)
PERSON, PROGRAM, MODEL, TOOL, IMPORT = ORIGINS
CONFIRMED = (PERSON, PROGRAM)
"""What needs nobody to confirm it."""


def lowest(origins: Iterable[str]) -> Origin:
    """Return the least trusted of *origins*, as which anything unknown counts, and none at all."""
    ranks = [ORIGINS.index(one) if one in ORIGINS else -1 for one in origins]
    return IMPORT if not ranks or -1 in ranks else ORIGINS[max(ranks)]
