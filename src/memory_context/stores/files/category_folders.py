"""The folders that hold the memories of a category, and the category of a file by its folders."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from hashlib import blake2b
from urllib.parse import unquote

LONGEST_NAME = 120  # of a folder, in bytes
LONGEST_PATH = 1000  # of all folders of a category, in characters
_EDGE = ". "  # characters that may occur inside a name, but not at its beginning or end
_PLAIN = "_-" + _EDGE  # and letters and digits of any script
_NO_NAME = "%"  # the folder of an empty part of a category


def folder_of(category: str | None) -> tuple[str, ...]:
    """Return the names of the nested folders for *category*, one for each of its parts.

    Characters that are not safe in a file name are written as %XX, so that a name is never ``..``, empty or hidden. A
    name or path that is too long is cut off and ends with a hash.
    """
    if category is None:
        return ()
    parts = map(_escaped, category.split("/"))
    folders = tuple(map(_shortened, parts))
    if len("/".join(folders)) <= LONGEST_PATH:
        return folders
    return (_shortened("%2F".join(folders)),)


def category_in(folders: Sequence[str], written: str | None) -> str | None:
    """Return the category of a file that lies in *folders*, and whose text gives the category *written*.

    The folders decide, because a person may have moved the file. But if the folders are those of *written*, that is
    returned: a file system may ignore case or normalise Unicode, and a shortened name does not give the category back.
    """
    if _normalised(folder_of(written)) == _normalised(folders):
        return written
    if not folders:
        return None
    return "/".join("" if name == _NO_NAME else unquote(name) for name in folders)


def _escaped(part: str) -> str:
    if not part:
        return _NO_NAME
    name = ""
    last = len(part) - 1
    for position, char in enumerate(part):
        is_plain = char.isalnum() or char in _PLAIN
        if char in _EDGE and position in (0, last):
            is_plain = False
        if is_plain:
            name += char
            continue
        for byte in char.encode("utf-8", "surrogatepass"):
            name += f"%{byte:02X}"
    return name


def _shortened(name: str) -> str:
    data = name.encode("utf-8", "surrogatepass")
    if len(data) <= LONGEST_NAME:
        return name
    digest = blake2b(data, digest_size=12).hexdigest()
    cut = data[: LONGEST_NAME - len(digest) - 1]
    start = cut.decode("utf-8", "ignore").rstrip("%. ")
    return f"{start}~{digest}"


def _normalised(folders: Sequence[str]) -> str:
    return unicodedata.normalize("NFC", "/".join(folders)).casefold()
