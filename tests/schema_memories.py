"""What the databases of earlier schemas hold: stored by each version of the library itself, for `make_schemas`.

Runs under every version since the first: it uses only what all of them have.
"""

from __future__ import annotations

import base64
import inspect
import json
import sys
from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

LARGE = "\n".join(
    f"line {number}: worker {number % 7} took {number * 37 % 1000} ms" for number in range(120)
)
LARGE = LARGE.replace("line 60:", "line 60: zebrafish-4711 was found by the night shift;")
SEARCHES = {
    "zebrafish-4711": "large",
    "night shift": "large",
    "launch window of the rocket": "decision",
    "数据库": "chinese",
    "password of staging": "staging-password",
}
NAMED: dict[str, Any] = {
    "decision": "The launch window of the rocket is on Friday.",
    "chinese": "数据库连接失败：请检查密码 😀",
    "large": LARGE,
    "nul": "NUL \0 inside",
    "surrogate": "a lone \ud83d surrogate",
    "breaks": "line\r\nbreaks\n\n",
    "empty": "",
    "binary": b"\x00\xff\xfe binary \x80",
    "json": {"items": [{"id": 1, "name": "ü"}, {"id": 2, "name": None}], "total": 2.5},
}
TIERS = {"run": "r1", "session": "t1", "plan": "r1", "task": "k1", "project": "p1", "global": None}


def letters(texts: Sequence[str]) -> list[list[float]]:
    """An embedder: how often each of some letters stands in a text."""
    return [[float(text.lower().count(letter)) for letter in "abcdefgh"] for text in texts]


def fill(url: str) -> None:
    """Store memories of every kind, read some, delete some."""
    from memory_context import MemoryManager  # noqa: PLC0415 - of the version that is on the path
    from memory_context.stores import SQLAlchemyStore  # noqa: PLC0415 - as above

    embeds = "embedder" in inspect.signature(SQLAlchemyStore).parameters
    options: dict[str, Any] = {"embedder": letters, "embedding_model": "letters"} if embeds else {}
    store = SQLAlchemyStore(url, **options)
    ann = MemoryManager(store, user_id="ann", agent_id="coder", thread_id="t1", counter=len)
    _fill(ann)
    MemoryManager(store, user_id="bob", counter=len).store(
        NAMED["decision"], "bob's own", key="decision"
    )
    if embeds:
        ann.reindex()
        ann.search("zebrafish-4711")
        _wait_for_vectors(url)
    ann.close()
    store.close()


def _fill(ann: Any) -> None:
    for name, content in NAMED.items():
        ann.store(
            content,
            f"the {name}",
            "tool_output",
            key=name,
            metadata={"exit": 1, "args": ["a", None, {"ü": True}]},
        )
    ann.store(
        "hunter2", "the password of staging", "secret", key="staging-password", tags=["staging"]
    )
    for tier, tier_id in TIERS.items():
        place = {
            "tier": tier,
            "tier_id": tier_id,
            "category": f"notes/{tier}",
            "tags": ["red", "grün"],
        }
        ann.store(
            f"a note of the tier {tier}", None, "note", key=f"in-{tier}", importance=0.75, **place
        )
    expires = datetime(2999, 12, 31, 23, 59, 59, 123456, tzinfo=UTC)
    ann.store(
        "an output that is shared " * 20,
        None,
        "tool_output",
        source="npm install",
        expires_at=expires,
    )
    item = ann.remember("evicted", None, "note", key="evicted")
    ann.memory_store.put(ann.scope, replace(item, is_active=False), replace=True)
    for name in ("decision", "decision", "large"):
        ann.read(name)
    for name, reason in (("gone", "forgotten"), ("gone-too", "a retention rule")):
        ann.store(f"text of {name}", key=name)
        ann.forget(name, reason=reason)


def _wait_for_vectors(url: str) -> None:
    """Until the thread that makes vectors has made them all."""
    import time  # noqa: PLC0415 - only here

    import sqlalchemy as sa  # noqa: PLC0415 - only here

    engine, before = sa.create_engine(url), -1
    while True:
        time.sleep(1)
        with engine.connect() as connection:
            [name] = [one for one in sa.inspect(connection).get_table_names() if "vectors" in one]
            count = connection.execute(sa.text(f'SELECT count(*) FROM "{name}"')).scalar_one()
        if count == before and count > 0:
            return
        before = count


def told(url: str) -> dict[str, Any]:
    """Everything that the library on the path finds in the database, as JSON."""
    from memory_context.model.scope import Scope  # noqa: PLC0415 - of the version that is on the path
    from memory_context.stores import SQLAlchemyStore  # noqa: PLC0415 - as above

    names = [*NAMED, "staging-password", *(f"in-{tier}" for tier in TIERS), "evicted"]
    with SQLAlchemyStore(url) as store:
        scope = Scope("ann")
        records = store.get_many(scope, names) + store.query(
            scope,
            {
                "memory_type": "tool_output",
                "category": None,
                "expires_at": {"$gt": datetime(2900, 1, 1, tzinfo=UTC)},
            },
        )
        deletions = [store.deletion(scope, name) for name in ("gone", "gone-too")]
        others = store.get_many(Scope("bob"), ["decision"])
        return {
            "ann": [_plain(item) for item in records],
            "bob": [_plain(item) for item in others],
            "deleted": [
                [gone.memory_key, gone.deleted_at.isoformat(), gone.reason]
                for gone in deletions
                if gone
            ],
        }


def _plain(item: Any) -> dict[str, Any]:
    values = {
        field.name: getattr(item, field.name) for field in fields(item) if field.name != "match"
    }
    return {name: _jsonable(value) for name, value in values.items()}


def _jsonable(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, UUID):
        return str(value)
    return list(value) if isinstance(value, tuple) else value


if __name__ == "__main__":
    fill(sys.argv[1])
    Path(sys.argv[2]).write_text(json.dumps(told(sys.argv[1]), indent=1) + "\n", "utf-8")
