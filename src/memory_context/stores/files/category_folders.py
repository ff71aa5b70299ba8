"""Which folders stand for a category, and which category stands for folders."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from hashlib import blake2b
from urllib.parse import unquote

LONGEST_NAME = 120
LONGEST_PATH = 1000
_EDGE = ". "  # characters that may stand inside a name, but neither begin nor end it
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-" + _EDGE)
_NO_NAME = "%"  # stands for an empty part of a category


def folder_of(category: str | None) -> tuple[str, ...]:
    """Return the folders that stand for *category*, one for each of its parts.

    What no name can hold is written as %XX, so that no part is ``..``, empty or hidden, whatever the category. What is
    too long ends with a hash.
    """
    if category is None:
        return ()
    folders = tuple(_shortened(_escaped(part)) for part in category.split("/"))
    if len("/".join(folders)) > LONGEST_PATH:
        return (_shortened("%2F".join(folders)),)
    return folders


def category_in(folders: Sequence[str], written: str | None) -> str | None:
    """Return the category of a file that is in *folders* and says *written*.

    The folders decide, unless they are how *written* is spelled on this disk: a file system may ignore case or
    normalise Unicode, and a long category cannot be told from its folder.
    """
    if _normalised("/".join(folder_of(written))) == _normalised("/".join(folders)):
        return written
    if not folders:
        return None
    return "/".join("" if name == _NO_NAME else unquote(name) for name in folders)


def _escaped(part: str) -> str:
    if not part:
        return _NO_NAME
    name = ""
    for position, char in enumerate(part):
        is_edge = position in (0, len(part) - 1)
        is_plain = char in _PLAIN or (char.isalnum() and not char.isascii())
        name += char if is_plain and not (is_edge and char in _EDGE) else _percent(char)
    return name


def _percent(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "surrogatepass"))


def _shortened(name: str) -> str:
    data = name.encode("utf-8", "surrogatepass")
    if len(data) <= LONGEST_NAME:
        return name
    digest = blake2b(data, digest_size=12).hexdigest()
    start = data[: LONGEST_NAME - len(digest) - 1].decode("utf-8", "ignore").rstrip("%. ")
    return f"{start}~{digest}"


def _normalised(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()
