"""What is recalled says which later calls named the same file: it may have been edited since."""

from __future__ import annotations

import json
import re

from autogen_core.models import LLMMessage

from for_each import for_each
from memory_context import MemoryContext, SQLAlchemyStore
from messages import call, results, user
from test_context import fill, shown

CODE = "\n\n".join(
    f"def price_{name}(order):\n    rate = {n}\n    return order.total * rate"
    for n, name in enumerate(f"region{number}" for number in range(300))
)
READ = json.dumps({"path": "src/prices.py"})


async def _since(*calls: tuple[str, str], first: str = READ) -> str:
    """Return what recalled code says about the *calls* after the one that read it."""
    context = MemoryContext("ann", store="sqlite://")
    said: list[LLMMessage] = [
        user("Read it."),
        call("read", arguments=first),
        results(CODE, name="read"),
    ]
    for number, (tool, arguments) in enumerate(calls, 2):
        said += call(tool, arguments=arguments, number=number), results("Done.", number=number)
    *_, found, _ = await fill(context, *said, user("What does price_region177 return?"))
    assert "def price_region177(order):" in shown(found)
    since = re.search(r" tokens\] \(tool\)(.*)", shown(found))
    assert since
    return since[1]


@for_each(
    "first, calls, since",
    [
        (READ, [], ""),
        (READ, [("edit", '{"path": "src/other.py"}'), ("status", "{}")], ""),
        (
            READ,
            [("edit", '{"path": "lib/src/prices.py"}'), ("note", '{"text": "src/prices.py"}')],
            "",
        ),
        (
            READ,
            [("edit", '{"file_path": "./src/prices.py", "new": "rate = 9.5"}'), ("test", READ)],
            " (later calls with src/prices.py: edit, test)",
        ),
        (
            '{"path": "donn\\u00e9es.csv"}',
            [("edit", '{"path": "ann\\u00e9es.csv"}'), ("append", '{"path": "données.csv"}')],
            " (later calls with données.csv: append)",
        ),
        (
            '{"url": "https://shop.example/v1", "password": "Sunny.Day42", "file_text": "a\\nb.c"}',
            [("log_in", '{"url": "https://shop.example/v1", "password": "Sunny.Day42"}')],
            "",
        ),
        ("{}", [("list", "{}"), ("read", "{}")], ""),
        ("no JSON", [("read", "no JSON")], ""),
    ],
)
async def test_recalled_text_tells_which_later_calls_have_the_path_of_its_own(
    first: str, calls: list[tuple[str, str]], since: str
) -> None:
    """Other arguments are no paths, a path in another folder is another file, and a call that reads memory is none."""
    reads_memory = ("search_memory", READ)
    assert await _since(reads_memory, *calls, first=first) == since


async def test_what_an_output_came_after_is_not_said() -> None:
    """If the same text was read again after the edit, it is current."""
    edit = call("edit", arguments=READ, number=2), results("Done.", number=2)
    again = call("read", arguments=READ, number=3), results(CODE, name="read", number=3)
    context = MemoryContext("ann", store="sqlite://")
    read = user("Read it."), call("read", arguments=READ), results(CODE, name="read")
    *_, found, _ = await fill(context, *read, *edit, *again, user("What is price_region177?"))
    assert "def price_region177(order):" in shown(found)
    assert "later calls" not in shown(found)


async def test_calls_before_the_text_came_are_not_said() -> None:
    """A text of another conversation may have come after the calls of this one."""
    store = SQLAlchemyStore("sqlite://")
    other = MemoryContext("ann", store=store, thread_id="other")
    await fill(other, user("Read it."), call("read", arguments=READ), results(CODE, name="read"))
    context = MemoryContext("ann", store=store, thread_id="this")
    edit = call("edit", arguments=READ, number=2), results("Done.", number=2)
    asks = user("What does price_region177 return?")
    *_, found, _ = await fill(context, user("Edit it."), *edit, asks)
    assert "from another conversation" in shown(found)
    assert "later calls" not in shown(found)
