"""The reference that stands in a prompt for a stored text: its key, and the one place that renders and parses it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import regex

from memory_context.exceptions import InvalidKeyError, InvalidReferenceError

MAX_GENERATED_KEY = 64
MAX_DESCRIPTION = 80
SHORTEST_DIGEST = 8
KEPT_REFERENCES = 2000  # of a conversation, the newest
_DIGEST_LENGTHS = (SHORTEST_DIGEST, 16, 32, 62)
_KEY = re.compile(r"[A-Za-z0-9_.\-]{1,255}")
_IGNORABLE = regex.compile(r"\p{Default_Ignorable_Code_Point}")
_REFERENCE = re.compile(
    r"\[MemoryRef: (?P<key>[A-Za-z0-9_.\-]{1,255})"
    r"(?:(?: - (?P<description>[^\[\]\r\n]{1,80}))? - (?P<tokens>[0-9]{1,18}) tokens)?\]"
)


@dataclass(frozen=True, slots=True)
class MemoryRef:
    """``[MemoryRef: key - description - N tokens]``, or the short ``[MemoryRef: key]``.

    The description is brought into the form that a reference can carry (`one_line`) when the object is made, so that
    ``MemoryRef.parse(ref.render()) == ref`` holds for every reference.

    Attributes:
        key: The memory's key.
        description: One line of at most 80 characters without square brackets; needs a count beside it.
        tokens: The tokens of the whole text, or None in the short form.

    Raises:
        InvalidKeyError: The key cannot be one.
        InvalidReferenceError: The count is negative or has more than 18 digits, or a description comes without one.
    """

    key: str
    description: str = ""
    tokens: int | None = None

    def __post_init__(self) -> None:
        """Check key and count, and clean the description."""
        check_key(self.key)
        object.__setattr__(self, "description", one_line(self.description))
        if self.tokens is None and self.description:
            message = f"a reference with a description needs the count of its tokens: {self.key!r}"
            raise InvalidReferenceError(message)
        if self.tokens is not None and not _is_count(self.tokens):
            message = (
                f"a reference's count is a whole number from 0 to 10**18 - 1, not {self.tokens!r}"
            )
            raise InvalidReferenceError(message)

    def render(self) -> str:
        """The text that stands in the prompt."""
        if self.tokens is None:
            return f"[MemoryRef: {self.key}]"
        description = f" - {self.description}" if self.description else ""
        return f"[MemoryRef: {self.key}{description} - {self.tokens} tokens]"

    __str__ = render

    @classmethod
    def parse(cls, text: str) -> MemoryRef:
        """The reference that `text`, apart from white space around it, consists of.

        Raises:
            InvalidReferenceError: It is anything else.
        """
        match = _REFERENCE.fullmatch(text.strip())
        if match is None:
            message = f"not a reference: {text[:80]!r}; one reads [MemoryRef: key - description - N tokens]"
            raise InvalidReferenceError(message)
        return _from(match)

    @classmethod
    def find_all(cls, text: str) -> list[MemoryRef]:
        """Every reference in `text`, in order. That one stands there proves nothing: only the owner's store knows."""
        return [_from(match) for match in _REFERENCE.finditer(text)]


def _is_count(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and 0 <= number < 10**18


def _from(match: re.Match[str]) -> MemoryRef:
    tokens = match["tokens"]
    return MemoryRef(
        match["key"], match["description"] or "", int(tokens) if tokens is not None else None
    )


def one_line(text: str, limit: int = MAX_DESCRIPTION) -> str:
    """`text` as one printable line of at most `limit` characters without square brackets; idempotent."""
    start = text[: limit * 16].replace("[", "(").replace("]", ")")
    plain = (
        " " if unicodedata.category(char)[0] in "CZ" else char
        for char in _IGNORABLE.sub(" ", start)
    )
    line = " ".join("".join(plain).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def check_key(key: object) -> str:
    """`key` itself, if it can be one.

    Raises:
        InvalidKeyError: It is not a text of 1 to 255 characters out of ``A-Z a-z 0-9 _ . -``.
    """
    if isinstance(key, str) and _KEY.fullmatch(key):
        return key
    message = f"not a memory key: {str(key)[:80]!r}; a key has 1 to 255 characters out of A-Z a-z 0-9 _ . -"
    raise InvalidKeyError(message)


def found_at(text: str) -> Iterator[tuple[int, MemoryRef]]:
    """Every reference in `text`, in order, with the place where it begins."""
    return ((match.start(), _from(match)) for match in _REFERENCE.finditer(text))


def leading_key(text: str) -> str | None:
    """The key of the reference that `text` begins with; None without one."""
    match = _REFERENCE.match(text)
    return match["key"] if match else None


def generated_keys(source: str, digest: str) -> Iterator[str]:
    """Keys for a text from `source` (a tool, a file), the shortest first; each names it by more of the hex `digest`."""
    slug = re.sub(r"[^a-z0-9]+", "_", source.lower()).strip("_") or "memory"
    for length in _DIGEST_LENGTHS:
        room = MAX_GENERATED_KEY - length - 1
        yield f"{slug[:room].strip('_')}_{digest[:length]}"


def without_references(text: str) -> str:
    """`text` with nothing in place of its references."""
    return _REFERENCE.sub("", text)


def keys_named(text: str, keys: Iterable[str]) -> frozenset[str]:
    """The keys that `text` names: those of its references, and those of `keys` that stand in it as words."""
    return frozenset(
        (
            *(ref.key for ref in MemoryRef.find_all(text)),
            *(key for key in keys if names_key(text, key)),
        )
    )


def key_in(text: str) -> str:
    """The key of the first reference in `text`; without one, `text` itself."""
    return next((ref.key for ref in MemoryRef.find_all(text)), text)


def names_key(text: str, key: str) -> bool:
    """Whether `key` stands in `text` as a word of its own."""
    return (
        key in text and re.search(rf"(?<![\w.-]){re.escape(key)}(?![\w-]|\.\w)", text) is not None
    )
