"""What an index says of lexemes: on every database the same, and the same as the texts themselves."""

from __future__ import annotations

from memory_context import MemoryManager
from memory_context.stores import term_hits_in
from memory_context.text.index.term_hits import term_hits

TEXTS = {
    "orders": "\n".join(f"order {number} of worker-{number}" for number in range(200)),
    "log": "worker-22 failed\nworker-2231 done",
}


def test_an_index_says_what_the_texts_say(store_url: str) -> None:
    """The chunks that hold each lexeme whole, and how many there are."""
    with MemoryManager(store_url, user_id="ann") as memory:
        for key, text in TEXTS.items():
            memory.store(text, key=key)
        items = [memory.get(key) for key in TEXTS]
        wanted = ["worker-22", "order", "22", "nowhere"]
        found = term_hits_in(memory.memory_store, memory.scope, wanted, {"memory_key": list(TEXTS)})
        expected = term_hits(items, wanted)

    assert expected.chunks == found.chunks
    assert dict(expected.holding or {}) == dict(found.holding or {})
    assert set(expected.hits) == set(found.hits)
