"""Which names an agent's files and folders may have: the same on every platform, whatever its file system takes."""

from __future__ import annotations

import contextlib
import re
import unicodedata
from collections.abc import Callable

from memory_context.exceptions import InvalidPathError

MOST_NAME_BYTES = 255  # of ext4, APFS and NTFS (which counts UTF-16 units, never more than bytes)
MOST_PATH_BYTES = 1024  # PATH_MAX of macOS, the shortest of those that we run on
DEEPEST = 32
OWN_PREFIX = ".memory-context-"

_RESERVED_CHARACTERS = (
    '<>:"|?*'  # learn.microsoft.com, "Naming Files, Paths, and Namespaces"; so are the devices
)
_SPECIAL = "/\\.\0" + _RESERVED_CHARACTERS
_DEVICE = re.compile(
    r"(con|prn|aux|nul|clock\$|conin\$|conout\$|(com|lpt)[0-9]) *(\..*)?", re.DOTALL
)
_ENCODED = re.compile(r"%(25)*(2e|2f|5c|00)", re.IGNORECASE)
# Of confusables.txt (Unicode Technical Standard 39), what looks like / \ . : and is no letter or digit of a living
# script; those that NFKC makes into the character itself need no list.
_LOOKALIKES = frozenset(
    "\u2041\u2044\u2215\u2571\u27cb\u29f8\u2cc6\u31d3\u3033\U0001d23a\U0001f67c"
) | frozenset(
    "\u2216\u2572\u27cd\u29f5\u29f9\u31d4\U0001d20f\U0001d23b\U0001f67d"
    "\u0701\u0702\ua4f8\ua60e\U00010a50\U0001d16d"
    "\u02d0\u02f8\u0589\u05c3\u16ec\u2236\ua789\ua4fd"
)
_INVISIBLE = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})


def _is_too_long(name: str) -> bool:
    return len(name.encode("utf-8", "surrogatepass")) > MOST_NAME_BYTES


def _is_invisible(name: str) -> bool:
    if name.isascii():
        return not name.isprintable()
    return any(unicodedata.category(character) in _INVISIBLE for character in name)


def _looks_alike(name: str) -> bool:
    """Whether a character is taken for one of ours, by an eye or by a file system that normalises names."""
    if name.isascii():
        return False
    plain = unicodedata.normalize("NFKC", name)
    return not _LOOKALIKES.isdisjoint(name) or any(
        plain.count(one) != name.count(one) for one in _SPECIAL
    )


def _is_device(name: str) -> bool:
    return _DEVICE.fullmatch(unicodedata.normalize("NFKC", name).casefold()) is not None


_Rule = tuple[Callable[[str], object], str]
_NAME_RULES: tuple[_Rule, ...] = (
    (lambda name: not name, "a name is empty"),
    (lambda name: name in {".", ".."}, "'.' and '..' are no names"),
    (_is_too_long, f"a name takes more than {MOST_NAME_BYTES} bytes"),
    (_is_invisible, "a name holds a control, invisible or private character"),
    (_looks_alike, "a character looks like a separator, a dot or a colon, but is another one"),
    (lambda name: "\\" in name, "folders are separated by '/', not by a backslash"),
    (
        lambda name: set(_RESERVED_CHARACTERS) & set(name),
        f"no name holds one of {_RESERVED_CHARACTERS}",
    ),
    (
        lambda name: name[-1] in ". \u00a0\u3000",
        "a name ends with a dot or a space, which Windows drops",
    ),
    (_is_device, "the name is that of a device on Windows"),
    (_ENCODED.search, "a separator or a dot is percent-encoded"),
    (
        lambda name: name.casefold().startswith(OWN_PREFIX),
        f"names with {OWN_PREFIX} are memory-context's own",
    ),
)
_PATH_RULES: tuple[_Rule, ...] = (
    (lambda path: not path.strip(), "the path is empty"),
    (lambda path: path.startswith("/"), "the path is absolute"),
    (lambda path: path.startswith("~"), "'~' means a home folder"),
    (lambda path: path.endswith("/"), "the path ends with '/', as that of a folder"),
    (
        lambda path: len(path) > MOST_PATH_BYTES or _bytes(path) > MOST_PATH_BYTES,
        "the path is too long",
    ),
    (lambda path: path.count("/") >= DEEPEST, f"folders are nested deeper than {DEEPEST}"),
)
_AGENT_RULES: tuple[_Rule, ...] = (
    *_NAME_RULES,
    (lambda name: name[0] in ".~", "the id begins with '.' or '~'"),
    (lambda name: "/" in name, "the id holds '/'"),
    (lambda name: not name.strip(), "the id is blank"),
)


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _problem(text: str, rules: tuple[_Rule, ...]) -> str | None:
    return next((reason for breaks, reason in rules if breaks(text)), None)


def path_parts(relative_file_path: object) -> tuple[str, ...]:
    """The names of the folders that lead to a file or folder of an agent, and its own.

    Nothing is rewritten: one path, one file.

    Raises:
        InvalidPathError: No text, empty, absolute, leading out, or a name that some platform takes for something else.
    """
    if not isinstance(relative_file_path, str):
        message = (
            f"a path is a text such as notes/today.md, not {type(relative_file_path).__name__}"
        )
        raise InvalidPathError(message)
    parts = tuple(relative_file_path.split("/"))
    problem = _problem(relative_file_path, _PATH_RULES) or next(
        filter(None, (_problem(p, _NAME_RULES) for p in parts)), None
    )
    if problem:
        message = f"the path {brief(relative_file_path)} is refused: {problem}; write a path such as notes/today.md"
        raise InvalidPathError(message)
    return parts


def agent_folder(agent_instance_id: object) -> str:
    """The name of an agent's folder: its id.

    Raises:
        InvalidPathError: No text, or an id that cannot be a folder's name.
    """
    if not isinstance(agent_instance_id, str):
        message = (
            f"an agent's id is a text such as planner-1, not {type(agent_instance_id).__name__}"
        )
        raise InvalidPathError(message)
    if problem := _problem(agent_instance_id, _AGENT_RULES):
        message = f"the agent's id {brief(agent_instance_id)} is refused: {problem}; take an id such as planner-1"
        raise InvalidPathError(message)
    return agent_instance_id


def is_path(path: str) -> bool:
    """Whether `path_parts` takes `path`."""
    with contextlib.suppress(InvalidPathError):
        return bool(path_parts(path))
    return False


def variants(name: str) -> set[str]:
    """Other spellings of `name` that some file systems take for the same."""
    forms = {unicodedata.normalize("NFC", name), unicodedata.normalize("NFD", name)}
    return {
        other for form in forms for other in (form, form.swapcase(), form.upper(), form.lower())
    } - {name}


def brief(path: object) -> str:
    """`path` for a message or a log: on one line, quoted, cut at 100 characters."""
    text = ascii(path[:101]) if isinstance(path, str) and _looks_alike(path[:101]) else repr(path)
    return text if len(text) <= 100 else text[:99] + "…"
