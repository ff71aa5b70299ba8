"""Describe a text in one line: its kind, its numbers, its names. Deterministic, without a model.

With ``register``, users can describe the outputs of their own tools. Both are explained in `docs/descriptions.md`.
"""

from memory_context.text.describe.choose_describer import describe, identify
from memory_context.text.describe.custom_describers import Describer, register, unregister
from memory_context.text.describe.description import Description, Kind

__all__ = ["Describer", "Description", "Kind", "describe", "identify", "register", "unregister"]
