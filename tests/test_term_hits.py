"""What an index says of terms: on every database the same, and the same as the texts themselves."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from memory_context import MemoryManager, SQLAlchemyStore
from memory_context.stores import MemoryStore, term_hits_in
from memory_context.testing.sample_memories import ANN, put
from memory_context.text.index.lexemes_looked_up import FEW_CHUNKS
from memory_context.text.index.term_hits import (
    CHUNKS_OF_TERM,
    MOST_CHUNKS,
    ChunkPlace,
    best_chunks,
    term_hits,
)

TEXTS = {
    "orders": "\n".join(f"order {number} of worker-{number}" for number in range(200)),
    "log": "worker-22 failed\nworker-2231 done",
    "elsewhere": "worker-22 of another conversation",
}
ASKED_ABOUT = ["orders", "log"]


def test_an_index_says_what_the_texts_say(store_url: str) -> None:
    """The chunks that hold most of the terms whole, how many hold each lexeme, and which are there."""
    with MemoryManager(store_url, user_id="ann") as memory:
        for key, text in TEXTS.items():
            memory.store(text, key=key)
        items = [memory.get(key) for key in TEXTS]
        wanted = [["worker-22", "worker", "22"], ["order", "22"], ["nowhere"], []]
        found = term_hits_in(memory.memory_store, memory.scope, wanted, {"memory_key": ASKED_ABOUT})
        expected = term_hits(items, wanted)

    assert expected.chunks == found.chunks
    assert expected.holding == dict(found.holding)
    assert {"worker-22", "worker", "22", "order"} == found.here
    assert {place for place in expected.places if place.memory_key in ASKED_ABOUT} == {
        *found.places
    }
    assert ChunkPlace("log", 0, len(TEXTS["log"])) in found.places


def test_in_a_store_without_an_index_the_newest_texts_are_read() -> None:
    """Of more texts than are read, those of an hour ago matter more than the oldest."""
    with SQLAlchemyStore("sqlite://") as store:
        for number in range(101):
            put(store, f"worker-{number}", memory_key=f"m{number}")
        without_an_index = cast("MemoryStore", SimpleNamespace(query=store.query))
        found = term_hits_in(without_an_index, ANN, [["worker-100"], ["worker-0"]], {})

    assert ["m100"] == [place.memory_key for place in found.places]


def test_a_common_word_of_a_large_text_leads_to_few_chunks(store_url: str) -> None:
    """However many chunks hold it, only the best are read: those with the rarer word come first."""
    rows = "\n".join(f"row {number} of the dock" for number in range(20_000))
    with MemoryManager(store_url, user_id="ann") as memory:
        memory.store(rows.replace("row 9000 ", "row kestrel "), key="rows")
        found = term_hits_in(memory.memory_store, memory.scope, [["dock"], ["kestrel"]], {})
        text = memory.get("rows").text

    assert found.holding["dock"] == found.chunks > 5 * MOST_CHUNKS
    assert len(found.places) == MOST_CHUNKS
    assert "kestrel" in text[found.places[0].start : found.places[0].stop]


@pytest.mark.long
def test_a_word_in_more_than_half_of_many_chunks_is_not_looked_up(store_url: str) -> None:
    """It tells nothing apart; it counts as one that stands there, so nobody looks for it elsewhere."""
    rows = "\n".join(f"row {number} of the dock" for number in range(60_000))
    with MemoryManager(store_url, user_id="ann") as memory:
        memory.store(rows, key="rows")
        found = term_hits_in(memory.memory_store, memory.scope, [["dock"], ["59999"]], {})

    assert found.holding["dock"] > FEW_CHUNKS
    assert found.here == {"dock", "59999"}
    assert len(found.places) == 1


def test_the_chunks_that_hold_a_whole_phrase_come_before_others_with_its_rarest_word() -> None:
    """Each term has its best chunks among those that are read, also where the rest of the message stands elsewhere."""
    others = dict.fromkeys(range(100), 1.0)
    held = {
        "much": others,
        "more": others,
        "mara": dict.fromkeys((200, *range(60, 80)), 1.0),
        "lind": dict.fromkeys((200, 201, *range(300, 400)), 1.0),
    }
    rarity = {"much": 2.0, "more": 2.0, "mara": 3.0, "lind": 0.1}.__getitem__

    best = best_chunks([["much"], ["more"], ["mara", "lind"]], held, rarity)

    assert 200 in best
    assert MOST_CHUNKS <= len(best) <= MOST_CHUNKS + CHUNKS_OF_TERM


def test_of_chunks_that_hold_the_same_those_that_hold_it_more_often_come_first() -> None:
    """Where most chunks hold a word, where they begin says nothing."""
    held = {"dock": {number: 6.0 if number == 70 else 1.0 for number in range(80)}}

    assert best_chunks([["dock"]], held, lambda _: 1.0)[:2] == [70, 0]


def test_a_term_without_a_word_in_the_index_has_no_chunks() -> None:
    """A phrase of which the rarest word stands nowhere is nowhere."""
    assert not best_chunks([[], ["nowhere"]], {}, lambda _: 1.0)


def test_chunk_with_all_words_of_a_term_comes_first() -> None:
    """The chunk that holds all lexemes of a term is read, even if others hold one of them more often."""
    often = dict.fromkeys(range(100, 120), 9.0)
    common = dict.fromkeys(range(60), 1.0)
    held = {"error": {**often, 120: 1.0}, "timeout": {120: 1.0}, "x": common, "y": common}
    rarity = {"x": 9.0, "y": 9.0, "error": 2.0, "timeout": 1.0}

    assert 120 in best_chunks([["error", "timeout"]], held, rarity.__getitem__)
