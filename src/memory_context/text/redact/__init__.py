"""Take secrets out of texts: a pure function of the text, with no state but its rules.

A text of some megabytes that an agent stores is clean as a rule. So each rule names literals of which one must stand in
what it finds; only where one does is its pattern tried. Patterns are bounded, or go on only from where the last one
stopped: no text makes them slow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory_context.runtime.lazy_names import lazy_names
from memory_context.text.redact.record_texts import JsonForm, Redaction

if TYPE_CHECKING:
    from memory_context.text.redact.redactor import KINDS, Redacted, Redactor
    from memory_context.text.redact.secret_pieces import Secret, without_pieces
    from memory_context.text.redact.user_patterns import RedactionPattern

__all__ = [
    "KINDS",
    "JsonForm",
    "Redacted",
    "Redaction",
    "RedactionPattern",
    "Redactor",
    "Secret",
    "without_pieces",
]

_HOMES = {
    "KINDS": "redactor",
    "Redacted": "redactor",
    "RedactionPattern": "user_patterns",
    "Redactor": "redactor",
    "Secret": "secret_pieces",
    "without_pieces": "secret_pieces",
}


# They compile many patterns, and most stores have no redactor.
__getattr__ = lazy_names(__name__, _HOMES)
