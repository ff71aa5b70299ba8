"""Take secrets out of texts: a pure function of the text, whose only state is its rules.

Most texts of some megabytes that an agent stores hold no secret. So each rule has a cheap *hint* that begins with a
literal, and its pattern is tried only where the hint matches. Patterns are bounded, or continue where the previous one
stopped, so that no text makes them slow. A *kind* is the sort of secret, such as ``password``; a *marker*, such as
``[redacted password]``, takes its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory_context.runtime.lazy_names import lazy_names
from memory_context.text.redact.record_texts import JsonForm, Redaction

if TYPE_CHECKING:
    from memory_context.text.redact.known_secrets_cut_off import Secret, without_pieces
    from memory_context.text.redact.redactor import KINDS, Redacted, Redactor
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
    "Secret": "known_secrets_cut_off",
    "without_pieces": "known_secrets_cut_off",
}


# Imported only when used, because these modules compile many patterns, and most stores have no redactor.
__getattr__ = lazy_names(__name__, _HOMES)
