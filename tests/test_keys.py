"""Generated keys: their form, their source, one for equal contents, another one where one is taken."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest
from autogen_core.models import UserMessage
from hypothesis import given
from hypothesis import strategies as st

from for_each import for_each
from memory_context import MemoryContext, MemoryManager
from memory_context.exceptions import KeyExistsError
from memory_context.model.generated_keys import KeyGenerator
from memory_context.model.item import hash_content
from memory_context.model.reference import MemoryRef
from memory_context.testing import seeded_keys

GENERATED = re.compile(r"[a-z0-9_]{1,53}_[a-z0-9]{10}")


@given(st.text() | st.text("_-a.", max_size=80), st.integers())
def test_form(source: str, seed: int) -> None:
    """Every generated key is a short one in lower case: a slug and ten characters."""
    key = KeyGenerator(Random(seed)).new_key(source)

    assert GENERATED.fullmatch(key)
    assert [MemoryRef(key)] == MemoryRef.find_all(f"see [MemoryRef: {key}].")


@for_each(
    "source, slug",
    [
        ("npm install", "npm_install"),
        ("/src/App.tsx", "src_app_tsx"),
        ("_x_", "x"),
        ("日本", "memory"),
        ("", "memory"),
        ("a" * 52 + "-b", "a" * 52),
    ],
)
def test_slug(source: str, slug: str) -> None:
    """The letters and digits of a source make the readable part of a key."""
    assert slug == KeyGenerator().new_key(source).rpartition("_")[0]


def test_keys_tell_nothing_of_the_content() -> None:
    """Equal contents of two users have keys that nobody could derive from the text."""
    with (
        MemoryManager("sqlite://", user_id="ann") as ann,
        MemoryManager("sqlite://", user_id=1) as bob,
    ):
        keys = [manager.store("log", type="tool_output") for manager in (ann, bob)]

    suffixes = {key.rpartition("_")[2] for key in keys}
    assert 2 == len(suffixes)
    assert not any(suffix in hash_content("log") for suffix in suffixes)


def test_nobody_guesses_them() -> None:
    """Two processes generate different keys, and a seed of Python's generator changes nothing."""
    code = (
        "import random; random.seed(1)\n"
        "from memory_context.model.generated_keys import KeyGenerator\n"
        "print([KeyGenerator().new_key('x') for _ in range(20)])"
    )
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        for _ in range(2)
    ]

    assert runs[0].stdout != runs[1].stdout
    assert 40 == len({key for run in runs for key in re.findall(r"x_\w{10}", run.stdout)})


def test_equal_contents_keep_the_first_key() -> None:
    """In the tier of details equal contents are one record, whoever stores them; notes are their own."""
    with MemoryManager("sqlite://", user_id="ann") as manager:
        folded = [manager.store("log", type="tool_output", source=name) for name in ("a", "b")]
        assert folded[0] == folded[1]

        manager.forget(folded[0], soft=True)
        assert folded[0] == manager.store("log", type="tool_output")

        notes = {manager.store("log", tier="project", tier_id="p") for _ in range(2)}
        assert 2 == len(notes)


def test_taken_key_is_generated_again(store_url: str) -> None:
    """Where another memory has the key that was drawn, the next one is; a key of one's own is refused."""
    manager = MemoryManager(store_url, user_id="ann", key_source=Random(7))
    taken = [manager.store(f"log {number}") for number in range(3)]
    manager.key_generator.source = Random(7)

    fourth = manager.store("log 3")

    again = KeyGenerator(Random(7))
    assert [*taken, fourth] == [again.new_key("note") for _ in range(4)]
    assert "log 0" == manager.retrieve(taken[0])
    with pytest.raises(KeyExistsError):
        manager.store("log 4", key=taken[0])


def test_views_share_the_source() -> None:
    """A view of a manager draws from the manager's source, also when that is set later."""
    manager = MemoryManager("sqlite://", user_id="ann")
    view = manager.within([("project", "p")])
    manager.key_generator.source = Random(1)

    key = view.store("a note", tier="project", tier_id="p")

    assert KeyGenerator(Random(1)).new_key("note") == key


def _stored() -> list[str]:
    with MemoryManager("sqlite://", user_id="ann") as manager:
        return [manager.store(f"text {number}", source="tool") for number in range(5)]


def test_seeded_keys_repeat() -> None:
    """The same seed gives the same keys, another one others; afterwards they are random again."""
    with seeded_keys(1):
        first = _stored()
        with seeded_keys(2):
            second = _stored()
        third = _stored()
    with seeded_keys(1):
        assert [*first, *third] == [*_stored(), *_stored()]
    assert 15 == len({*first, *second, *third})
    assert not set(first) & set(_stored())


@pytest.mark.long
def test_seeded_keys_in_threads() -> None:
    """Threads share one sequence: in whichever order they draw, the keys are the same ones."""
    generator = KeyGenerator()
    drawn = list[set[str]]()
    for _ in range(2):
        with seeded_keys(3), ThreadPoolExecutor(8) as pool:
            drawn.append(set(pool.map(generator.new_key, ["x"] * 5_000)))

    assert drawn[0] == drawn[1]
    assert 5_000 == len(drawn[0])


def test_seeded_keys_in_a_context() -> None:
    """What a conversation folds in its threads has the same keys too."""

    async def prompt() -> str:
        context = MemoryContext("ann", store="sqlite://", threshold=50)
        for number in range(3):
            text = "\n".join(f"worker-{line} done in run {number}" for line in range(300))
            await context.add_message(UserMessage(content=text, source="shell"))
        messages = await context.get_messages()
        await context.aclose()
        return "\n".join(str(message.content) for message in messages)

    prompts = list[str]()
    for _ in range(2):
        with seeded_keys(4):
            prompts.append(asyncio.run(prompt()))

    assert prompts[0] == prompts[1]
    assert 3 == len(MemoryRef.find_all(prompts[0]))
