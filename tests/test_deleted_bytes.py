"""Deleted means deleted: no byte of a forgotten text stays in a database's files once they are scrubbed."""

from __future__ import annotations

import random
from pathlib import Path

from memory_context import MemoryManager, SQLAlchemyStore


def test_forgotten_texts_leave_the_file(sqlite_url: str) -> None:
    """After `forget` and `scrub` no word of the texts stands in the file, its log, or its search index."""
    chosen = random.Random(1)
    words = ["".join(chosen.choices("abcdefghij", k=9)) for _ in range(9000)]
    texts = {f"k{start}": " ".join(words[start : start + 300]) for start in range(0, 9000, 300)}
    gone = sorted(texts)[:5]
    with SQLAlchemyStore(sqlite_url) as store:
        manager = MemoryManager(store, user_id="ann")
        for key, text in texts.items():
            manager.store(text, "words", key=key)
        for key in gone:
            manager.forget(key)

        assert store.scrub()

        path = Path(str(store.database.url.database))
        data = b"".join(file.read_bytes() for file in path.parent.glob(f"{path.name}*"))
        assert [] == [word for key in gone for word in texts[key].split() if word.encode() in data]
