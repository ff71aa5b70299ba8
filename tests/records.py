"""Any record: what hypothesis makes of memories and deletions."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from memory_context.model.item import BINARY, Deletion, MemoryItem, hash_content, identity_of

# Those of UTF-8; asked for by codec, hypothesis would try each first.
storable = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
words = st.text(storable, max_size=20)
names = st.text(storable, min_size=1, max_size=20)
keys = st.from_regex(r"[A-Za-z0-9_.\-]{1,40}", fullmatch=True)
moments = st.datetimes(datetime(1970, 1, 2), datetime(9000, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - the zone follows
objects = st.dictionaries(
    words,
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(-1e9, 1e9) | words,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
        max_leaves=5,
    ),
    max_size=3,
)
categories = (
    st.none()
    | st.text(storable, max_size=40)
    | st.sampled_from(
        [
            "",
            "/",
            "..",
            "../..",
            "/etc/passwd",
            "a/../b",
            "a//b",
            ".hidden",
            "a/.memory-context/b",
            "A/b",
            "x" * 300,
            "a/" * 900,
        ]
    )
)


@st.composite
def memories(draw: st.DrawFn, user: str = "ann") -> MemoryItem:
    """Any memory that a store takes."""
    content: str | bytes = draw(st.text(max_size=200) | st.binary(max_size=200))
    digest = hash_content(content)
    count = draw(st.integers(0, 10**12))
    facts: dict[str, Any] = {
        "memory_key": draw(keys),
        "memory_type": draw(names),
        "tier": draw(names),
        "tier_id": draw(st.none() | names),
        "agent_id": draw(st.none() | names),
        "thread_id": draw(st.none() | names),
        "summary": draw(words),
        "media_type": draw(st.sampled_from(["text/plain", "text/markdown", "application/json"]))
        if isinstance(content, str)
        else BINARY,
        "content_metadata": draw(objects),
        "category": draw(categories),
        "tags": tuple(draw(st.lists(words, max_size=3))),
        "importance": draw(st.floats(0, 1)),
        "token_count": draw(st.integers(0, 10**12)),
        "char_count": len(content),
        "line_count": draw(st.integers(0, 10**12)),
        "content_hash": digest,
        "identity": draw(st.none() | st.just(identity_of(content, digest))),
        "created_at": draw(moments),
        "updated_at": draw(moments),
        "expires_at": draw(st.none() | moments),
        "is_active": draw(st.booleans()),
        "access_count": count,
        "accessed_at": draw(moments) if count else None,
    }
    return MemoryItem(user_id=user, content=content, **facts)


deletions = st.builds(Deletion, keys, moments, words)
