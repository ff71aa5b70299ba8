"""Categories of notes: paths, and the trees that they make."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from memory_context.exceptions import InvalidCategoryError
from memory_context.model.scope import MAX_NAME

_CATEGORY = re.compile(r"[\w-]+(?:/[\w-]+)*")


def check_category(category: object) -> str | None:
    """Return *category* if it is valid, or None.

    Raises:
        InvalidCategoryError: It is not a path of letters, digits, ``-`` and ``_``.
    """
    if category is None:
        return None
    if isinstance(category, str) and len(category) <= MAX_NAME and _CATEGORY.fullmatch(category):
        return category
    raise InvalidCategoryError(
        f"a category is a path of letters, digits, - and _ with / between its parts, such as project-context/rockets, "
        f"of at most {MAX_NAME} characters; not {category!r:.80}"
    )


@dataclass(frozen=True, slots=True)
class Category:
    """A category of notes, as a node of a tree.

    Attributes:
        path: The whole path; "" for notes without a category.
        count: How many notes it holds itself.
        total: How many it and all below it hold.
        children: The categories below it, sorted by name.
    """

    path: str
    count: int
    total: int
    children: tuple[Category, ...] = ()

    @property
    def name(self) -> str:
        """Return the last part of the path."""
        return self.path.rpartition("/")[2]


def trees(counts: Mapping[str, int], above: str = "") -> list[Category]:
    """Return the categories below the path *above*, sorted by name, each with all that is below it.

    Args:
        counts: How many notes each category holds, by its path.
        above: A path; "" for the roots.
    """
    start = f"{above}/" if above else ""
    names = {
        path.removeprefix(start).partition("/")[0] for path in counts if path.startswith(start)
    }
    categories: list[Category] = []
    for name in sorted(names):
        path = start + name
        count = counts.get(path, 0)
        children = tuple(trees(counts, path)) if path else ()
        total = count + sum(child.total for child in children)
        categories.append(Category(path, count, total, children))
    return categories
