"""`ContextAssembler`: what an agent starts with, within a budget."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from for_each import for_each
from memory_context import ContextAssembler, MemoryManager, SQLAlchemyStore
from memory_context.exceptions import InvalidArgumentError, InvalidTierError
from memory_context.memory.allocation_advice import RecordedAssembly, improved, served
from memory_context.memory.assembly_within_budget import (
    Allotment,
    AssemblyCandidate,
    choose,
    score,
    shares,
)

PARTS = {"task": 0.4, "project": 0.4, "global": 0.2}


@pytest.fixture
def manager(store_url: str) -> Any:
    """An empty memory, on every database."""
    with MemoryManager(store_url, user_id="ann") as manager:
        yield manager


def fill(
    manager: MemoryManager, tier: str, tier_id: str | None, count: int, words: str = "filler"
) -> list[str]:
    """So many notes of about twenty tokens; their keys, oldest first."""
    texts = (
        f"{words} note {number} of {tier}: nothing that anybody would look for today"
        for number in range(count)
    )
    return [manager.store(text, tier=tier, tier_id=tier_id) for text in texts]


def both(manager: MemoryManager) -> ContextAssembler:
    """An assembler on one task of one project."""
    return ContextAssembler(manager, task_id="t", project_id="p")


def test_what_goes_in(manager: MemoryManager) -> None:
    """What the task speaks of goes in first, under its tier; the rest is left out, with reasons, and counted."""
    fill(manager, "project", "p", 150)
    needed = manager.store(
        "The payment service listens on port 8443.", "ports", tier="project", tier_id="p"
    )
    manager.store("Rename the payment endpoint.", "the task", tier="task", tier_id="t")

    package = both(manager).build("Change the port of the payment service", 300)

    assert "Of this task:\n- the task: Rename the payment endpoint.\nOf this project:\n" in str(
        package
    )
    assert needed == next(item.memory_key for item in package.items if item.tier == "project")
    assert package.tokens == manager.counter.count(package.text) <= 300
    assert (
        package.tokens_by_tier["project"]
        > package.tokens_by_tier["task"]
        > 0
        == package.tokens_by_tier["global"]
    )
    assert all("no room" in one.reason for one in package.left_out)
    assert 152 == len(package.entries) + len(package.left_out) + sum(package.unranked.values())
    assert 0 < package.compression_ratio < 0.2
    assert package


def test_empty(manager: MemoryManager) -> None:
    """Without memories, or without a budget, a package is empty, and false."""
    assert not both(manager).build("anything", 1000)
    fill(manager, "project", "p", 3)
    for budget in (0, 1, 12):
        package = both(manager).build("anything", budget)
        assert ("", 0, []) == (str(package), package.tokens, package.items)
        assert not package
        assert 3 == len(package.left_out)


def test_nobody_elses(manager: MemoryManager) -> None:
    """Other tasks, projects, tiers and users are not looked at; a tier without an id is not either."""
    for tier, tier_id in (
        ("task", "u"),
        ("project", "q"),
        ("session", "t"),
        ("run", "p"),
        ("detail", None),
    ):
        manager.store(
            "the answer is 42",
            tier=tier,
            tier_id=tier_id,
            tags=["always"] if tier != "detail" else [],
        )
    MemoryManager(manager.memory_store, user_id="bob").store("the answer is 42", tier="global")

    assert not both(manager).build("answer", 1000)
    assert not ContextAssembler(manager).build("answer", 1000)
    session = ContextAssembler(manager, tier_ids={"session": "t"}).build(
        "answer", 1000, {"session": 1}
    )
    assert "Of this session:\n- the answer is 42" in str(session)


def test_ids_of_tiers_that_are_given_otherwise(manager: MemoryManager) -> None:
    """`tier_ids` is a dict; a task, a project or an id for the tier ``global`` in it is refused, not ignored."""
    for wrong in ({"task": "t"}, {"project": None}, {"global": "x"}):
        with pytest.raises(InvalidTierError, match=next(iter(wrong))):
            ContextAssembler(manager, task_id="other", tier_ids=wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="tier_ids must be a dict"):
        ContextAssembler(manager, tier_ids=["session"])  # type: ignore[arg-type] # what is refused


def test_unused_shares_go_to_others(manager: MemoryManager) -> None:
    """A tier that needs nothing leaves its share to the others."""
    fill(manager, "project", "p", 100)

    package = both(manager).build("anything", 1000)

    assert package.tokens > 900
    fill(manager, "task", "t", 100)
    split = both(manager).build("anything", 1000)
    assert 0.8 < split.tokens_by_tier["task"] / split.tokens_by_tier["project"] < 1.25


def test_the_task_comes_first(manager: MemoryManager) -> None:
    """However small the budget, notes of the task go in before those of project and user."""
    manager.store(
        "the import fails on rows without a date", importance=0.3, tier="task", tier_id="t"
    )
    for text in ("we keep orders in PostgreSQL", "four spaces", "tests run on SQLite"):
        manager.store(text, importance=0.9, tier="project", tier_id="p")
    manager.store("metric units", importance=0.9, tier="global")

    for budget, head_tail in ((35, 0), (40, 0), (50, 0), (60, 0), (200, 0), (50, 2)):
        package = both(manager).build("where do we keep orders?", budget, head_tail=head_tail)

        assert package.tokens <= budget
        assert "task" == package.entries[0].tier
        assert 5 == len(package.entries) + len(package.left_out)


def test_a_long_note_of_the_task_in_a_small_budget(manager: MemoryManager) -> None:
    """A note of the task that is too long comes as its reference, before anything else."""
    manager.store("the import fails " * 90, "the task", tier="task", tier_id="t")
    fill(manager, "project", "p", 9)

    package = both(manager).build("note of the project", 60)

    assert "task" == package.entries[0].tier


def test_summary(manager: MemoryManager) -> None:
    """A package says in a line what is in it, of which tiers, and what is not."""
    fill(manager, "project", "p", 40)
    fill(manager, "task", "t", 1)

    package = both(manager).build("", 100)

    assert package.summary == (
        f"{len(package.entries)} memories (1 of task, {len(package.entries) - 1} of project) in "
        f"{package.tokens} of 100 tokens; {41 - len(package.entries)} left out"
    )
    assert "0 memories in 0 of 100 tokens; 0 left out" == (
        ContextAssembler(manager).build("", 100).summary
    )


@pytest.mark.long
def test_head_and_tail(manager: MemoryManager) -> None:
    """The first and the last written are kept whatever they are worth, at both ends of their tier."""
    keys = fill(manager, "project", "p", 60)
    wanted = [
        manager.store(f"zeppelin number {n}", tier="project", tier_id="p", importance=1)
        for n in range(3)
    ]
    keys += fill(manager, "project", "p", 60, "more")

    package = both(manager).build("zeppelin", 200, head_tail=2)

    shown = [item.memory_key for item in package.items]
    assert (keys[:2], keys[-2:]) == (shown[:2], shown[-2:])
    assert set(wanted) < set(shown)
    little = both(manager).build("zeppelin", 60, head_tail=2)
    assert keys[-1] in [item.memory_key for item in little.items]


def test_long_memories(manager: MemoryManager) -> None:
    """A long memory comes as an excerpt for the task, a secret and bytes as references, whatever they are worth."""
    lines = [f"{n}: all is well" for n in range(2000)] + ["zeppelin landed at 14:07 on mast B-12"]
    long = manager.store("\n".join(lines), "harbour log", tier="project", tier_id="p")
    manager.store("hunter2", "zeppelin password", "secret", tier="project", tier_id="p")
    manager.store(b"\0zeppelin", "zeppelin picture", tier="project", tier_id="p")

    package = both(manager).build("when did the zeppelin land", 600)

    forms = {entry.item.memory_key: entry.form for entry in package.entries}
    assert "excerpt" == forms.pop(long)
    assert {"reference"} == set(forms.values())
    assert "mast B-12" in str(package)
    assert "hunter2" not in str(package)
    assert "zeppelin password" in str(package)
    [short] = [
        entry for entry in both(manager).build("zeppelin", 600, max_item_tokens=40).entries
        if entry.item.memory_key == long
    ]  # fmt: skip
    assert "reference" == short.form


def test_equal_texts_once(manager: MemoryManager) -> None:
    """A text that stands in two tiers is shown once."""
    for tier, tier_id in (("task", "t"), ("project", "p"), ("global", None)):
        manager.store("Use tabs.", tier=tier, tier_id=tier_id)

    package = both(manager).build("tabs", 300)

    assert 1 == str(package).count("Use tabs.")
    assert ["the same text as"] * 2 == [one.reason.rpartition(" ")[0] for one in package.left_out]


def test_preferences_without_a_tier(manager: MemoryManager) -> None:
    """Preferences and always-notes that were stored without a tier belong to the user; other details do not."""
    manager.store("metric units", "units", "user_preference")
    manager.store("the deploy key is on host-7", "deploy key", tags=["always"])
    manager.store("an output", "output", "tool_output")

    text = str(ContextAssembler(manager).build("hello", 300))

    assert "- units: metric units" in text
    assert "- deploy key: the deploy key is on host-7" in text
    assert "output" not in text


def test_preferences_without_a_tier_are_ranked_and_kept(manager: MemoryManager) -> None:
    """A preference without a tier that the task speaks of goes in first, and the first and last written are kept."""
    keys = [
        manager.store(f"Likes sort {number} of cheese.", type="user_preference")
        for number in range(130)
    ]
    needed = manager.store("Zebras have green stripes.", None, "user_preference", importance=0.4)
    keys += [
        manager.store(f"Likes sort {number} of tea.", type="user_preference")
        for number in range(130)
    ]
    assembler = ContextAssembler(manager)

    ranked = assembler.build("Draw a zebra with stripes", 200)
    ends = assembler.build("Draw a zebra with stripes", 200, head_tail=1)

    assert needed == ranked.items[0].memory_key
    shown = [item.memory_key for item in ends.items]
    assert [keys[0], needed, keys[-1]] == [shown[0], shown[1], shown[-1]]


def test_a_tier_that_there_is_not(manager: MemoryManager) -> None:
    """A misspelt tier in an allocation is an error: it would look like a tier without memories."""
    with pytest.raises(InvalidTierError, match="there is no tier 'projcet'; there are global"):
        both(manager).build("x", 100, {"projcet": 1})


@for_each("allocation", [{}, {"task": 0}, {"task": -1}, {"task": float("nan")}, {"task": 101}])
def test_wrong_allocations(manager: MemoryManager, allocation: dict[str, float]) -> None:
    """An allocation has a part above 0, and none that is no part."""
    with pytest.raises(InvalidArgumentError, match="allocation"):
        both(manager).build("x", 100, allocation)


@for_each(
    "numbers",
    [{"budget_tokens": -1}, {"head_tail": -1}, {"max_item_tokens": -1}, {"max_item_tokens": ""}],
)
def test_wrong_numbers(manager: MemoryManager, numbers: dict[str, Any]) -> None:
    """Negative numbers, and what is no number, are refused by name."""
    with pytest.raises(InvalidArgumentError, match=next(iter(numbers))):
        both(manager).build(**{"task": "x", "budget_tokens": 100, **numbers})


TIERS = st.sampled_from(["task", "project", "global"])
NOTES = st.tuples(
    TIERS, st.text(max_size=300), st.floats(0, 1), st.sampled_from(["note", "secret"])
)
COUNTERS: st.SearchStrategy[Callable[[str], int] | None] = st.sampled_from(
    [None, len, lambda text: len(text.split()), lambda text: len(text) // 3 + 7]
)


@pytest.mark.long
@examples(150)
@given(
    st.lists(NOTES, max_size=12),
    st.integers(0, 400),
    st.dictionaries(TIERS, st.floats(0, 100), min_size=1).filter(lambda parts: any(parts.values())),
    st.integers(0, 3),
    st.text(max_size=30),
    COUNTERS,
)
def test_never_over_budget(
    notes: list[tuple[str, str, float, str]], budget: int, parts: dict[str, float], ends: int, task: str,
    counter: Callable[[str], int] | None,
) -> None:  # fmt: skip
    """No items, budget, allocation or counter make a text larger than its budget; every memory is told of."""
    with MemoryManager(SQLAlchemyStore("sqlite://"), user_id="u", counter=counter) as manager:
        for tier, text, importance, kind in notes:
            tier_id = {"task": "t", "project": "p"}.get(tier)
            manager.store(text, None, kind, tier=tier, tier_id=tier_id, importance=importance)

        package = both(manager).build(task, budget, parts, ends)

        assert manager.counter.count(package.text) == package.tokens <= budget or package.text == ""
        assert bool(package) == bool(package.text)
        wanted = sum(1 for tier, *_ in notes if parts.get(tier))
        assert wanted == len(package.entries) + len(package.left_out)
        assert package.text == both(manager).build(task, budget, parts, ends).text
        manager.memory_store.close()


def test_what_an_excerpt_leaves_goes_to_others(manager: MemoryManager) -> None:
    """Where an excerpt takes less than its place, the best of the rest go in; nothing that fits whole is left out."""
    log = [
        f"12:{second // 60:02}:{second % 60:02} INFO request {second} served"
        for second in range(400)
    ]
    manager.store(
        "\n".join([*log, "ERROR login failed"]),
        "a log",
        "note",
        tier="task",
        tier_id="t",
        importance=0.9,
    )
    for number in range(60):
        manager.store(
            f"ticket SHOP-{number} changed a timeout", None, "note", tier="project", tier_id="p"
        )

    package = both(manager).build("find out why the login failed", 400)

    assert "excerpt" in {entry.form for entry in package.entries}
    assert package.tokens > 400 - 2 * min(one.tokens for one in package.left_out)


CANDIDATES = st.lists(
    st.builds(
        AssemblyCandidate,
        st.text(min_size=1, max_size=3),
        TIERS,
        st.integers(0, 500),
        st.integers(1, 40),
        st.booleans(),
        st.none() | st.integers(0, 9),
    ),
    unique_by=lambda one: one.key,
    max_size=30,
)


@examples(300)
@given(CANDIDATES, st.integers(0, 1000), st.dictionaries(TIERS, st.floats(0, 100)))
def test_choice(candidates: list[AssemblyCandidate], budget: int, parts: dict[str, float]) -> None:
    """A choice takes no more than the budget and nothing of a tier without a part; what fits whole is whole."""
    places = choose(candidates, budget, parts)

    by_key = {one.key: one for one in candidates}
    assert sum(place.tokens for place in places.values()) <= budget
    assert all(parts.get(by_key[key].tier, 0) > 0 for key in places)
    wanted = [one for one in candidates if parts.get(one.tier, 0) > 0]
    if sum(one.whole for one in wanted) <= budget and all(one.opens for one in wanted):
        assert {one.key: "whole" for one in wanted} == {
            key: place.form for key, place in places.items()
        }


@given(
    st.integers(0, 10**6),
    st.dictionaries(TIERS, st.floats(0, 100)),
    st.dictionaries(TIERS, st.integers(0, 10**6)),
)
def test_shares(budget: int, parts: dict[str, float], demand: dict[str, int]) -> None:
    """Shares are no more than the budget and than what is needed, and all of it where the budget is enough."""
    found = shares(budget, parts, demand)

    assert sum(found.values()) <= budget
    assert all(found[tier] <= demand.get(tier, 0) for tier in found)
    needed = sum(demand.get(tier, 0) for tier, part in parts.items() if part > 0)
    assert needed > budget or sum(found.values()) == needed
    assert sum(found.values()) >= min(budget, needed) - len(parts)


def test_shares_by_hand() -> None:
    """What one tier does not need goes to the others in proportion."""
    assert {"task": 40, "project": 40, "global": 20} == shares(
        100, PARTS, dict.fromkeys(PARTS, 1000)
    )
    assert {"task": 10, "project": 60, "global": 30} == shares(
        100, PARTS, {"task": 10, "project": 99, "global": 99}
    )
    assert {"task": 0, "project": 0, "global": 90} == shares(100, PARTS, {"global": 90})


def remember_use(manager: MemoryManager, times: int = 3) -> ContextAssembler:
    """An assembler whose assemblies, of a full project and a full task, turned out to need the project only."""
    fill(manager, "task", "t", 40)
    for number in range(12):
        manager.store(
            f"fact {number}: host-{number}.example.com runs it", tier="project", tier_id="p"
        )
    assembler = both(manager)
    for number in range(times):
        package = assembler.build("which hosts", 300, PARTS)
        left = next(one.key for one in package.left_out if one.tier == "project")
        assert {left} < assembler.record(
            package, "ssh host-11.example.com", f"retrieve_memory({left!r}) # {number}"
        )
    return assembler


def test_what_was_used(manager: MemoryManager) -> None:
    """Used is what a later text names by its key, by a name in it that the task did not hold, or by a quotation."""
    store = {"tier": "project", "tier_id": "p"}
    host = manager.store("the build runs on host-7.example.com", **store)
    quoted = manager.store("never push to the main branch on a friday", **store)
    silent = manager.store("be polite", **store)
    named = manager.store("lines of a log", **store)
    given = manager.store("look into config.yaml first", **store)
    package = both(manager).build("what is wrong in config.yaml", 1000)

    assert {host} == package.used("ping host-7.example.com")
    assert {quoted} == package.used("Remember: Never push to the main branch, on a Friday or else.")
    assert {named} == package.used("", f'{{"key": "{named}"}}')
    assert (
        frozenset()
        == package.used("I open config.yaml, politely.")
        == package.used()
        == package.used("")
    )
    assert {host, named} == package.used(f"{named} host-7.example.com")
    assert {silent, given} < {item.memory_key for item in package.items}


def test_use_is_kept(manager: MemoryManager) -> None:
    """What was used is kept in the store, adds up, and neither search nor another assembly shows it."""
    assembler = remember_use(manager)
    package = both(manager).build("which hosts", 300, PARTS)

    assert frozenset() == assembler.record(package, "nothing of it")
    assert 1 == len(assembler.record(package, "host-11.example.com"))
    assert 2 == len(both(manager).record(package, f"{package.left_out[0].key}"))
    assert 4 == assembler.advice().assemblies
    assert 52 == manager.memory_store.count(manager.scope)
    assert all(item.memory_type != "assembly" for item in manager.search("which hosts", limit=100))
    assert 0 == ContextAssembler(manager, project_id="q").advice().assemblies
    assert 0 == both(MemoryManager(manager.memory_store, user_id="bob")).advice().assemblies


def test_use_is_kept_under_threads(manager: MemoryManager) -> None:
    """What several threads note at once is all kept."""
    keys = fill(manager, "project", "p", 8)
    assembler = both(manager)
    package = assembler.build("note", 1000)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda key: assembler.record(package, key), keys))

    assert frozenset(keys) == assembler.record(package)


@pytest.mark.long
def test_advice(manager: MemoryManager) -> None:
    """The advice is an allocation that would have put in more of what was needed; the same each time."""
    advice = remember_use(manager).advice()

    assert (3, 6) == (advice.assemblies, advice.needed)
    assert PARTS == advice.current
    assert advice.suggested["project"] > 0.4 > advice.suggested["task"]
    assert 6 == advice.would_serve > advice.served
    assert advice == both(manager).advice()
    assert advice.suggested == both(manager).advice(advice.suggested).suggested


def test_no_advice(manager: MemoryManager) -> None:
    """Without records, or where nothing would have served better, the advice is the allocation in use."""
    advice = both(manager).advice()
    assert (0, PARTS, PARTS) == (advice.assemblies, advice.current, advice.suggested)
    fill(manager, "project", "p", 3)
    both(manager).record(both(manager).build("x", 500, {"project": 1, "global": 1}), "note 1")
    assert {"project": 1, "global": 1} == both(manager).advice().suggested


@examples(60)
@given(
    st.lists(st.tuples(CANDIDATES, st.integers(0, 600)), max_size=3),
    st.dictionaries(TIERS, st.floats(0.1, 1)),
)
def test_advice_is_no_worse(
    history: list[tuple[list[AssemblyCandidate], int]], parts: dict[str, float]
) -> None:
    """An improved allocation serves no less than the one it was found from."""
    past = [
        RecordedAssembly(tuple(one), room, frozenset(each.key for each in one[::2]))
        for one, room in history
    ]

    assert not parts or served(past, improved(past, parts)) >= served(past, parts)


def test_forms_by_hand() -> None:
    """A long memory gets a third of its tier's share, or what the others leave; where that is little, its reference."""
    long = AssemblyCandidate("a", "task", 5000, 20)
    others = [AssemblyCandidate(f"b{number}", "task", 50, 20) for number in range(40)]

    assert {"a": Allotment("excerpt", 900)} == choose([long], 900, {"task": 1})
    assert Allotment("excerpt", 800) == choose([long, *others[:2]], 900, {"task": 1})["a"]
    assert Allotment("excerpt", 300) == choose([long, *others], 900, {"task": 1})["a"]
    assert Allotment("reference", 20) == choose([long, *others], 170, {"task": 1})["a"]
    assert Allotment("reference", 20) == choose([long], 900, {"task": 1}, 50)["a"]
    assert Allotment("whole", 50) == choose(others, 170, {"task": 1})["b0"]
    assert {} == choose([long], 19, {"task": 1})


def test_whole_texts(manager: MemoryManager) -> None:
    """A description stands before its text, unless it only says how the text begins; further lines are set in."""
    for text, summary in (
        ("Use tabs.", None),
        ("one\ntwo", "numbers"),
        ("first line of a note\nthe second", None),
    ):
        manager.store(text, summary, tier="global")

    lines = str(ContextAssembler(manager).build("x", 500)).split("\n")

    assert "- Use tabs." in lines
    assert ["- numbers:", "  one", "  two"] == lines[(at := lines.index("- numbers:")) : at + 3]
    assert ["- first line of a note", "  the second"] == lines[
        (at := lines.index("- first line of a note")) : at + 2
    ]


def test_score() -> None:
    """Relevance, importance and recency count alike; what lies in the future is as recent as can be."""
    assert (
        2.0
        == score(0.5, 0.5, timedelta(0))
        == score(1, 0, timedelta(0))
        == score(0, 1, timedelta(-5))
    )
    assert score(0, 0, timedelta(days=1)) > score(0, 0, timedelta(days=2)) > 0
