"""The names that an agent's files and folders may have: the same on every platform, whatever its file system allows."""

from __future__ import annotations

import contextlib
import re
import unicodedata

from memory_context.exceptions import InvalidPathError

# The limit of ext4, APFS and NTFS (which counts UTF-16 units, never more than bytes).
MOST_NAME_BYTES = 255
MOST_PATH_BYTES = 1024  # PATH_MAX of macOS, the shortest limit of the supported platforms
DEEPEST = 32
OWN_PREFIX = ".memory-context-"
MOST_SHOWN = 100

# These characters, and the devices below, are reserved on Windows: learn.microsoft.com, "Naming Files, Paths, and
# Namespaces".
_RESERVED_CHARACTERS = '<>:"|?*'
_DEVICE = re.compile(
    r"(con|prn|aux|nul|clock\$|conin\$|conout\$|(com|lpt)[0-9]) *(\..*)?", re.DOTALL
)
_SPECIAL = "/\\.\0" + _RESERVED_CHARACTERS
# A percent-encoded dot, slash, backslash or NUL, encoded any number of times (%25 is the percent sign itself).
_PERCENT_ENCODED = re.compile(r"%(25)*(2e|2f|5c|00)", re.IGNORECASE)
# The characters of confusables.txt (Unicode Technical Standard 39) that look like / \ . or : and are not letters or
# digits of a living script. Those that NFKC turns into the character itself need not be listed.
_LOOKALIKES = frozenset(
    "\u2041\u2044\u2215\u2571\u27cb\u29f8\u2cc6\u31d3\u3033\U0001d23a\U0001f67c"
    "\u2216\u2572\u27cd\u29f5\u29f9\u31d4\U0001d20f\U0001d23b\U0001f67d"
    "\u0701\u0702\ua4f8\ua60e\U00010a50\U0001d16d"
    "\u02d0\u02f8\u0589\u05c3\u16ec\u2236\ua789\ua4fd"
)
_INVISIBLE = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})
"""Unicode categories: control, format, private use, surrogate, and separators of lines and paragraphs."""


def path_parts(relative_file_path: object) -> tuple[str, ...]:
    """Return the names in the path of an agent's file or folder: those of the folders above it, and its own.

    ``.`` and doubled slashes are left out. Nothing else is changed.

    Raises:
        InvalidPathError: The path is not a text, is empty, absolute or too long, leads out of the folder, or contains
            a name that means something else on some platform.
    """
    if not isinstance(relative_file_path, str):
        raise InvalidPathError(
            f"a path is a text such as notes/today.md, not {type(relative_file_path).__name__}"
        )
    names = tuple(name for name in relative_file_path.split("/") if name not in ("", "."))
    problems = [_path_problem(relative_file_path), *map(_name_problem, names)]
    if not names:
        problems.append("the path names no file")
    problem = next(filter(None, problems), None)
    if problem:
        raise InvalidPathError(
            f"the path {brief(relative_file_path)} is refused: {problem}; write a path such as notes/today.md"
        )
    return names


def agent_folder(agent_instance_id: object) -> str:
    """Return the name of an agent's folder: its id.

    Raises:
        InvalidPathError: The id is not a text, or cannot be a folder's name.
    """
    if not isinstance(agent_instance_id, str):
        raise InvalidPathError(
            f"an agent's id is a text such as planner-1, not {type(agent_instance_id).__name__}"
        )
    problem = _agent_problem(agent_instance_id)
    if problem:
        raise InvalidPathError(
            f"the agent's id {brief(agent_instance_id)} is refused: {problem}; take an id such as planner-1"
        )
    return agent_instance_id


def is_path(path: str) -> bool:
    """Return whether `path_parts` accepts *path*."""
    with contextlib.suppress(InvalidPathError):
        path_parts(path)
        return True
    return False


def caseless(path: str) -> str:
    """Return *path* as file systems compare it that ignore case and how an accent is encoded."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", path).casefold())


def brief(path: object) -> str:
    """Return *path* for a message or a log: on one line, quoted, cut off after 100 characters."""
    text = repr(path)
    if isinstance(path, str) and _looks_alike(path[: MOST_SHOWN + 1]):
        text = ascii(path)
    if len(text) <= MOST_SHOWN:
        return text
    return text[: MOST_SHOWN - 1] + "…"


def _path_problem(path: str) -> str | None:  # noqa: PLR0911 - a list of rules
    """Return what is wrong with a path as a whole; None if nothing is."""
    if not path.strip():
        return "the path is empty"
    if path.startswith("/"):
        return "the path is absolute"
    if path.startswith("~"):
        return "'~' means a home folder"
    if path.endswith("/"):
        return "the path ends with '/', as that of a folder"
    if _byte_count(path) > MOST_PATH_BYTES:
        return "the path is too long"
    if path.count("/") >= DEEPEST:
        return f"folders are nested deeper than {DEEPEST}"
    return None


def _name_problem(name: str) -> str | None:  # noqa: C901, PLR0911 - a list of rules
    """Return what is wrong with the name of a file or folder; None if nothing is."""
    if not name:
        return "a name is empty"
    if name in {".", ".."}:
        return "'.' and '..' are not names"
    if _byte_count(name) > MOST_NAME_BYTES:
        return f"a name takes more than {MOST_NAME_BYTES} bytes"
    if _is_invisible(name):
        return "a name has a control, invisible or private character"
    if _looks_alike(name):
        return "a character looks like a separator, a dot or a colon, but is another one"
    if "\\" in name:
        return "folders are separated by '/', not by a backslash"
    if not set(name).isdisjoint(_RESERVED_CHARACTERS):
        return f"a name has one of {_RESERVED_CHARACTERS}"
    if name[-1] in ". \u00a0\u3000":
        return "a name ends with a dot or a space, which Windows drops"
    if _DEVICE.fullmatch(unicodedata.normalize("NFKC", name).casefold()):
        return "the name is that of a device on Windows"
    if _PERCENT_ENCODED.search(name):
        return "a separator or a dot is percent-encoded"
    if name.casefold().startswith(OWN_PREFIX):
        return f"names with {OWN_PREFIX} are memory-context's own"
    return None


def _agent_problem(name: str) -> str | None:
    """Return what is wrong with an agent's id; None if nothing is."""
    problem = _name_problem(name)
    if problem:
        return problem
    if name[0] in ".~":
        return "the id begins with '.' or '~'"
    if "/" in name or ".." in name:
        return "the id has a '/' or '..'"
    if not name.strip():
        return "the id is blank"
    return None


def _byte_count(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _is_invisible(name: str) -> bool:
    if name.isascii():
        return not name.isprintable()
    return any(unicodedata.category(char) in _INVISIBLE for char in name)


def _looks_alike(name: str) -> bool:
    """Return whether a name has a character that may be taken for one of `_SPECIAL`.

    By a reader, or by a file system that normalises names.
    """
    if name.isascii():
        return False
    if not _LOOKALIKES.isdisjoint(name):
        return True
    plain = unicodedata.normalize("NFKC", name)
    return any(plain.count(char) != name.count(char) for char in _SPECIAL)
