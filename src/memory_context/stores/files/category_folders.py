"""The folders that hold the memories of a category, and the category of a file by its folders."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from hashlib import blake2b

LONGEST_NAME = 120  # of a folder, in bytes
LONGEST_PATH = 1000  # of all folders of a category, in characters
# Letters and digits of any script, "-" and "_"; inside a name also dots and spaces.
_SAFE_NAME = re.compile(r"[\w-](?:[\w. -]*[\w-])?")


def folder_of(category: str | None) -> tuple[str, ...]:
    """Return the names of the nested folders for *category*: its parts.

    If one of them is not safe in a file name (``..``, empty or hidden, for example), or too long, the category has one
    folder, named ``%`` and a hash.
    """
    if category is None:
        return ()
    parts = tuple(category.split("/"))
    if len(category) <= LONGEST_PATH and all(map(_is_safe, parts)):
        return parts
    digest = blake2b(category.encode("utf-8", "surrogatepass"), digest_size=12)
    return (f"%{digest.hexdigest()}",)


def category_in(folders: Sequence[str], written: str | None) -> str | None:
    """Return the category of a file that lies in *folders*, and whose text gives the category *written*.

    The folders decide, because a person may have moved the file, unless they do not give the category back: one is
    named by a hash, was escaped or cut off by an earlier version (``%``, ``~``), or differs from *written* only in case
    or in Unicode's form, which a file system may ignore.
    """
    path = "/".join(folders)
    if written is None or not folders:
        return path or None
    if "%" in path or "~" in path or _normalised(path) == _normalised(written):
        return written
    return path


def _is_safe(name: str) -> bool:
    return bool(_SAFE_NAME.fullmatch(name)) and len(name.encode()) <= LONGEST_NAME


def _normalised(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()
