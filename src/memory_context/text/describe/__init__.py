"""What a text is, in one line: its kind, its numbers, its names. Deterministic, without a model.

``register`` lets users describe the outputs of their own tools; `docs/descriptions.md` tells of both.
"""

from memory_context.text.describe.choose_describer import describe, identify
from memory_context.text.describe.custom_describers import Describer, register, unregister
from memory_context.text.describe.description import Description, Kind

__all__ = ["Describer", "Description", "Kind", "describe", "identify", "register", "unregister"]
