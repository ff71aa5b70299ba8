"""Which paths and ids an agent's files may have, on whatever platform the tests run."""

from __future__ import annotations

import ntpath
import posixpath
import unicodedata
from pathlib import PureWindowsPath

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from for_each import for_each
from hostile import FINE, FINE_IDS, IDS, NO_TEXTS, PATHS
from memory_context.agent_files.filenames import agent_folder, brief, is_path, path_parts
from memory_context.exceptions import InvalidPathError

TRICKS = st.sampled_from(
    [
        ".",
        "..",
        "/",
        "\\",
        ":",
        "~",
        " ",
        "\0",
        "con",
        "NUL",
        "COM1",
        "%2e",
        "%2f",
        "\u2024",
        "\u2025",
        "\uff0f",
        "\u2215",
        "a",
    ]
)
TEXTS = st.one_of(
    st.text(max_size=30), st.lists(st.one_of(TRICKS, st.characters()), max_size=12).map("".join)
)


def test_hundreds_of_hostile_paths() -> None:
    """There are hundreds of them, and each is refused with a reason and with what would be right."""
    assert 600 < len(PATHS)
    for path in PATHS:
        with pytest.raises(
            InvalidPathError, match=r"is refused: .+; write a path such as notes/today\.md"
        ):
            path_parts(path)


@for_each("path", FINE)
def test_fine_paths(path: str) -> None:
    """Names of every script pass as they are, also those that only resemble reserved ones."""
    assert path == "/".join(path_parts(path))


def test_hostile_ids() -> None:
    """What is no name of a folder, or begins with a dot, is no id of an agent."""
    for name in IDS:
        with pytest.raises(InvalidPathError, match=r"the agent's id .* is refused"):
            agent_folder(name)


@for_each("name", FINE_IDS)
def test_fine_ids(name: str) -> None:
    """UUIDs, names and addresses of mail are ids."""
    assert name == agent_folder(name)


@for_each("value", NO_TEXTS)
def test_no_texts(value: object) -> None:
    """What is no text is no path and no id."""
    with pytest.raises(InvalidPathError, match="is a text such as"):
        path_parts(value)
    with pytest.raises(InvalidPathError, match="is a text such as"):
        agent_folder(value)


@for_each("path", ["./notes.md", "a/./b.md", "a//b.md", ".//a/././/b.md", "a/./././././b"])
def test_dots_and_doubled_slashes(path: str) -> None:
    """What means nothing in a path is left out; what is left is a path like any other."""
    assert "/".join(path_parts(path)) in {"notes.md", "a/b.md", "a/b"}


@for_each("path", [".", "./", "././.", "a/./../b", "./.."])
def test_no_names(path: str) -> None:
    """A path that names nothing, and one that climbs behind a dot, is refused."""
    with pytest.raises(InvalidPathError):
        path_parts(path)


@for_each("name", ["a..b", "..a", "planner..1"])
def test_two_dots_in_an_id(name: str) -> None:
    """An agent's id with two dots in a row is refused."""
    with pytest.raises(InvalidPathError, match=r"the agent's id .* is refused"):
        agent_folder(name)


@given(TEXTS)
@example("a\u2025b")
@example("..\u200c")
def test_what_passes_stays_inside(path: str) -> None:
    """Whatever is taken stays inside on POSIX and on Windows, as it is and in every Unicode normal form."""
    if not is_path(path):
        return
    path = "/".join(path_parts(path))
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        spelled = unicodedata.normalize(form, path)
        assert spelled.count("/") == path.count("/")
        assert spelled.count(".") == path.count(".")
        assert posixpath.normpath(posixpath.join("/r", spelled)) == f"/r/{spelled}"
        windows = PureWindowsPath(spelled)
        assert ("", "") == (windows.drive, windows.root)
        assert ntpath.normpath(ntpath.join("C:\\r", spelled)) == "C:\\r\\" + spelled.replace(
            "/", "\\"
        )


@given(TEXTS)
def test_what_passes_is_a_name_everywhere(path: str) -> None:
    """Whatever is taken is printable UTF-8 that no platform shortens, hides or takes for a device."""
    if not is_path(path):
        return
    assert len(path.encode()) <= 1024
    for name in path_parts(path):
        assert 1 <= len(name.encode()) <= 255
        assert not any(unicodedata.category(one) in {"Cc", "Cf", "Cs", "Co"} for one in name)
        assert name == name.rstrip(" .")
        stem = unicodedata.normalize("NFKC", name).split(".")[0].rstrip(" ").upper()
        assert stem not in {
            "CON",
            "PRN",
            "AUX",
            "NUL",
            *(f"{port}{n}" for port in ("COM", "LPT") for n in range(10)),
        }


@given(st.one_of(TEXTS, st.text(min_size=90, max_size=400), st.integers()))
def test_brief(path: object) -> None:
    """A path in a message or a log is one short line of printable characters."""
    text = brief(path)
    assert len(text) <= 100
    assert text.isprintable()
