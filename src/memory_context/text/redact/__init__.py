"""Take secrets out of texts: a pure function of the text, with no state but its rules.

A text of some megabytes that an agent stores is clean as a rule. So each rule names literals of which one must stand in
what it finds; only where one does is its pattern tried. Patterns are bounded, or go on only from where the last one
stopped: no text makes them slow.
"""

from __future__ import annotations

from memory_context.text.redact.json_leaves import Form, Leaves, cleared_json, is_json
from memory_context.text.redact.redactor import KINDS, Redacted, Redactor
from memory_context.text.redact.secret_pieces import Secret, without_pieces
from memory_context.text.redact.user_patterns import RedactionPattern

__all__ = [
    "KINDS",
    "Form",
    "Leaves",
    "Redacted",
    "RedactionPattern",
    "Redactor",
    "Secret",
    "cleared_json",
    "is_json",
    "without_pieces",
]
