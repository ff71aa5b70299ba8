"""Render and parse the references that stand in a prompt for stored texts, and find keys in a text. No other module does."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from memory_context.exceptions import InvalidKeyError, InvalidReferenceError
from memory_context.model.checked_numbers import is_whole, shown
from memory_context.model.one_line import one_line

KEPT_REFERENCES = 2000  # the newest of a conversation
_KEY = re.compile(r"[A-Za-z0-9_.\-]{1,255}")
# [MemoryRef: key], [MemoryRef: key - N tokens] or [MemoryRef: key - description - N tokens]
_REFERENCE = re.compile(
    r"\[MemoryRef: (?P<key>[A-Za-z0-9_.\-]{1,255})"
    r"(?:(?: - (?P<description>[^\[\]\r\n]{1,80}))? - (?P<tokens>[0-9]{1,18}) tokens)?\]"
)
# The beginning of a reference, which a model or a person may have copied in part.
_BEGINNING = re.compile(r"MemoryRef: ?([A-Za-z0-9_.\-]{1,255})")


@dataclass(frozen=True, slots=True)
class MemoryRef:
    """``[MemoryRef: key - description - N tokens]``, or the short ``[MemoryRef: key]``.

    The description is brought into the form that a reference can carry (`one_line`) when the object is made, so that
    ``MemoryRef.parse(ref.render()) == ref`` holds for every reference.

    Attributes:
        key: The memory's key.
        description: One line of at most 80 characters without square brackets; it needs `tokens` beside it.
        tokens: The tokens of the whole text, or None in the short form.

    Raises:
        InvalidKeyError: The key is not valid.
        InvalidReferenceError: The count is negative or has more than 18 digits, or there is a description without one.
    """

    key: str
    description: str = ""
    tokens: int | None = None

    def __post_init__(self) -> None:
        """Check key and count, and clean the description."""
        check_key(self.key)
        object.__setattr__(self, "description", one_line(_text(self.description)))
        if self.tokens is None:
            if self.description:
                raise InvalidReferenceError(
                    f"a reference with a description needs a token count: {self.key!r}"
                )
            return
        if not is_whole(self.tokens) or not 0 <= self.tokens < 10**18:
            raise InvalidReferenceError(
                f"a reference's token count is a whole number from 0 to 10**18 - 1, not {self.tokens!r}"
            )

    def render(self) -> str:
        """Return the text that stands in the prompt."""
        if self.tokens is None:
            return f"[MemoryRef: {self.key}]"
        description = ""
        if self.description:
            description = f" - {self.description}"
        return f"[MemoryRef: {self.key}{description} - {self.tokens} tokens]"

    __str__ = render

    @classmethod
    def parse(cls, text: str) -> MemoryRef:
        """Return the reference that *text* consists of, apart from white space around it.

        Raises:
            InvalidReferenceError: It is anything else.
        """
        match = _REFERENCE.fullmatch(_text(text).strip())
        if not match:
            raise InvalidReferenceError(
                f"not a reference: {text[:80]!r}; one reads [MemoryRef: key - description - N tokens]"
            )
        return _from(match)

    @classmethod
    def find_all(cls, text: str) -> list[MemoryRef]:
        """Return every reference in *text*, in order. Only the owner's store knows whether a reference is genuine."""
        return [_from(match) for match in _REFERENCE.finditer(_text(text))]


def _text(value: object) -> str:
    """Return *value* if it is a text.

    Raises:
        InvalidReferenceError: It is not.
    """
    if isinstance(value, str):
        return value
    raise InvalidReferenceError(f"a reference and its description are texts, not {shown(value)}")


def _from(match: re.Match[str]) -> MemoryRef:
    tokens = None
    if match["tokens"] is not None:
        tokens = int(match["tokens"])
    return MemoryRef(match["key"], match["description"] or "", tokens)


def check_key(key: object) -> str:
    """Return *key* if it is valid.

    Raises:
        InvalidKeyError: It is not a text of 1 to 255 characters out of ``A-Z a-z 0-9 _ . -``.
    """
    if isinstance(key, str) and _KEY.fullmatch(key):
        return key
    raise InvalidKeyError(
        f"not a memory key: {shown(key)}; a key has 1 to 255 characters out of A-Z a-z 0-9 _ . -, "
        "such as some_key in [MemoryRef: some_key - …]"
    )


def leading_key(text: str) -> str | None:
    """Return the key of the reference that *text* begins with; None without one."""
    match = _REFERENCE.match(text)
    if match:
        return match["key"]
    return None


def referenced_keys(*texts: str) -> list[str]:
    """Return the keys of all references in *texts*, in order."""
    return [match["key"] for text in texts for match in _REFERENCE.finditer(text)]


def without_references(text: str) -> str:
    """Return *text* without its references."""
    return _REFERENCE.sub("", text)


def with_references_as(text: str, write: Callable[[MemoryRef], str]) -> str:
    """Return *text* with each reference replaced by what *write* returns for it."""
    return _REFERENCE.sub(lambda match: write(_from(match)), text)


def keys_named(text: str, keys: Iterable[str]) -> frozenset[str]:
    """Return the keys that *text* names: those of its references, and those of *keys* that stand in it as words."""
    named = {key for key in keys if names_key(text, key)}
    return frozenset(named.union(referenced_keys(text)))


def key_in(text: str) -> str:
    """Return the key of the first reference in *text*, whole or cut off after its key; without one, *text* itself."""
    match = _BEGINNING.search(text)
    if match:
        return match[1]
    return text


def names_key(text: str, key: str) -> bool:
    """Return whether *key* stands in *text* as a word of its own."""
    # A full stop after the key ends a sentence, unless a word follows it at once.
    alone = rf"(?<![\w.-]){re.escape(key)}(?![\w-]|\.\w)"
    return key in text and re.search(alone, text) is not None
