"""Categories of notes: paths, and the trees that they make."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from memory_context.exceptions import InvalidCategoryError
from memory_context.model.scope import MAX_NAME

_CATEGORY = re.compile(r"[\w-]+(?:/[\w-]+)*")


def check_category(category: str | None) -> str | None:
    """`category` itself, if it can be one.

    Raises:
        InvalidCategoryError: It cannot.
    """
    given: object = category
    if given is None:
        return None
    if isinstance(given, str) and len(given) <= MAX_NAME and _CATEGORY.fullmatch(given):
        return given
    message = (
        f"a category is a path of letters, digits, - and _ with / between its parts, as project-context/rockets, "
        f"of at most {MAX_NAME} characters; not {given!r:.80}"
    )
    raise InvalidCategoryError(message)


@dataclass(frozen=True, slots=True)
class Category:
    """A category of notes, as a node of a tree.

    Attributes:
        path: The whole path; "" for notes without a category.
        count: How many notes it holds itself.
        total: How many it and all below it hold.
        children: The categories below it, by name.
    """

    path: str
    count: int
    total: int
    children: tuple[Category, ...] = ()

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]


def trees(counts: Mapping[str, int], above: str = "") -> list[Category]:
    """The categories below a path."""
    start = f"{above}/" if above else ""
    below = {
        path.removeprefix(start).partition("/")[0] for path in counts if path.startswith(start)
    }
    return [_tree(counts, start + name) for name in sorted(below)]


def _tree(counts: Mapping[str, int], path: str) -> Category:
    children = tuple(trees(counts, path)) if path else ()
    own = counts.get(path, 0)
    return Category(path, own, own + sum(child.total for child in children), children)
