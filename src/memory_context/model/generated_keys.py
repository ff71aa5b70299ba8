"""Generated keys: a slug of what made the text, and ten random characters.

A key reveals nothing about the content. Equal contents that are one record keep its key, because the
store finds the record by its `identity`.
"""

from __future__ import annotations

import re
import string
from dataclasses import dataclass
from random import Random, SystemRandom

MAX_GENERATED_KEY = 64
RANDOM_CHARACTERS = 10
_ALPHABET = string.digits + string.ascii_lowercase
_MAX_SLUG = MAX_GENERATED_KEY - RANDOM_CHARACTERS - 1

# The operating system's cryptographic source; `memory_context.testing.seeded_keys` puts another
# one in its place.
process_source: Random = SystemRandom()


def made_by(slug: str) -> dict[str, dict[str, str]]:
    """Return the store filter for generated keys with *slug*, or with a longer slug that begins with it and ``_``."""
    # The backtick is the next character after the underscore.
    return {"memory_key": {"$gte": f"{slug}_", "$lt": f"{slug}`"}}


@dataclass(slots=True)
class KeyGenerator:
    """Generates keys. Safe under threads.

    Attributes:
        source: Draws the random characters; None for the process's source.
    """

    source: Random | None = None

    @property
    def is_unguessable(self) -> bool:
        """Return whether nobody can predict the next key: it comes from the cryptographic source, not from a seed."""
        return isinstance(self.source or process_source, SystemRandom)

    def new_key(self, made_by: str) -> str:
        """Return a key for a text that *made_by* (a tool, a file) made; it matches ``[a-z0-9_]{1,64}``."""
        slug = re.sub(r"[^a-z0-9]+", "_", made_by.lower()).strip("_")
        slug = slug[:_MAX_SLUG].strip("_") or "memory"
        # A single draw: threads that share a seeded source then get whole numbers, not a mixture of digits.
        source = self.source or process_source
        number = source.randrange(len(_ALPHABET) ** RANDOM_CHARACTERS)
        characters = ""
        for _ in range(RANDOM_CHARACTERS):
            number, digit = divmod(number, len(_ALPHABET))
            characters += _ALPHABET[digit]
        return f"{slug}_{characters}"
