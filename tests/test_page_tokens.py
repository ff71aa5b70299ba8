"""A page of `retrieve_memory` has its own size: a model that follows the hints reads a document in few calls."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from autogen_core import CancellationToken

from langchain_memory_context import MemoryContextMiddleware
from memory_context import FoldPolicy, MemoryContext, default_counter

DOCUMENT = "\n".join(
    f"{n}. Section {n} says what is to be done in case {n * 7919}." for n in range(500)
)


async def read_through(tool: Any, key: str) -> list[str]:
    """Read a text as the hints say, page after page."""
    pages, arguments = list[str](), {"key": key}
    while arguments:
        answer = await tool.run_json(arguments, CancellationToken())
        pages.append(str(answer))
        offset = re.search(r"offset=(\d+)", str(answer))
        arguments = {"key": key, "offset": int(offset[1])} if offset else {}  # type: ignore[dict-item] # JSON
    return pages


async def test_a_document_is_read_in_few_calls() -> None:
    """A document of 9,000 tokens comes in two pages, whole: the last one is larger than the first."""
    context = MemoryContext("ann", store="sqlite://")
    assert 8_000 < default_counter().count(DOCUMENT) < 11_000
    key = await context.store(DOCUMENT)

    pages = await read_through(context.tools()[0], key)

    assert 2 == len(pages)
    assert len(pages[0]) < len(pages[1])
    assert all(f"Section {n} says" in "".join(pages) for n in range(500))


@pytest.mark.parametrize(("settings", "most"), [({"max_tokens": 4000}, 1000), ({}, 6000)])
async def test_a_page_fits_the_limit(settings: dict[str, Any], most: int) -> None:
    """The last page takes a quarter of the conversation's limit at most; the others nearly two thirds of that."""
    context = MemoryContext("ann", store="sqlite://", **settings)
    key = await context.store(DOCUMENT)

    pages = await read_through(context.tools()[0], key)

    sizes = [default_counter().count(page) for page in pages]
    assert all(0.5 * most < size <= 2 / 3 * most for size in sizes[:-1])
    assert sizes[-1] <= most


async def test_a_size_of_ones_own() -> None:
    """`FoldPolicy(page_tokens=…)` sets the size in both hosts, and is part of the dumped component."""
    policy = FoldPolicy(page_tokens=700)
    context = MemoryContext("ann", store="sqlite:///memory.db", fold=policy)
    middleware = MemoryContextMiddleware("sqlite://", user_id="ann", fold=policy)
    reading = next(tool for tool in middleware.tools if tool.name == "retrieve_memory")

    loaded = MemoryContext.load_component(json.loads(context.dump_component().model_dump_json()))

    assert 700 == loaded.fold_policy.page_tokens
    assert 1050 == reading.max_tokens  # type: ignore[attr-defined] # one of ours
