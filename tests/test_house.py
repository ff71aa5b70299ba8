"""The house rules that a program can hold; the others are in CONTRIBUTING.md."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import langchain_memory_context
import memory_context

PACKAGES = [Path(package.__path__[0]) for package in (memory_context, langchain_memory_context)]
MOST_IN_ROOT = 6
HOSTS = ("agent_framework", "autogen", "langchain_memory_context")


def modules() -> list[Path]:
    """The modules of both packages, but for migrations, which Alembic names."""
    found = [path for package in PACKAGES for path in package.rglob("*.py")]
    return [path for path in found if "migrations" not in path.parts]


def name_of(path: Path) -> str:
    """Its path from the folder of its package on."""
    return next(str(path.relative_to(root.parent)) for root in PACKAGES if root in path.parents)


def test_few_files_lie_in_the_root() -> None:
    """A stranger meets the rooms, not a corridor of modules."""
    names = sorted(path.name for path in PACKAGES[0].glob("*.py"))
    assert len(names) <= MOST_IN_ROOT, names


def test_no_module_name_stands_twice() -> None:
    """A file is named without its folder; only hosts may have files of one name for the same thing."""
    places = defaultdict[str, list[str]](list)
    for path in modules():
        if path.name != "__init__.py" and path.parent.name not in HOSTS:
            places[path.name].append(name_of(path))
    assert not {name: found for name, found in places.items() if len(found) > 1}


def test_no_class_name_has_two_meanings() -> None:
    """Whoever reads a class's name knows which one is meant."""
    places = defaultdict[str, list[str]](list)
    for path in modules():
        for name in re.findall(
            r"^ *class (\w+)[(:\[]", path.read_text(encoding="utf-8"), re.MULTILINE
        ):
            places[name].append(name_of(path))
    assert not {name: found for name, found in places.items() if len(found) > 1}


def test_what_must_not_appear_is_no_hexadecimal_number() -> None:
    """An address in a `repr`, a UUID or a hash may hold any few of these digits, in one run of many."""
    places = [
        f"{path.name}: {text!r}"
        for path in Path(__file__).parent.glob("*.py")
        for text in re.findall('"([0-9a-f]{1,8})" not in ', path.read_text(encoding="utf-8"))
    ]
    assert not places
