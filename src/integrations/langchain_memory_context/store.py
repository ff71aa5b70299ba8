"""LangGraph's store on the memories of one user."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from operator import eq, ge, gt, le, lt, ne
from typing import Any, cast

from langgraph.store.base import (
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
)

from langchain_memory_context.any_label_store import AnyLabelStore
from memory_context.exceptions import InvalidArgumentError, StoreError
from memory_context.memory.manager import MemoryManager
from memory_context.model.item import STORE_ITEM, MemoryItem, hash_content, now
from memory_context.model.reference import one_line
from memory_context.model.scope import Scope
from memory_context.runtime import events
from memory_context.runtime.threads import off_loop

TIER = "store"
TYPE = STORE_ITEM
SEARCHED = 1000
_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "$eq": eq, "$ne": ne, "$gt": gt, "$gte": ge, "$lt": lt, "$lte": le,
}  # fmt: skip


class MemoryStoreAdapter(AnyLabelStore):
    """LangGraph's `BaseStore` on one user's memories, for ``create_agent(store=…)``, LangMem and others.

    An item is a memory of the type ``store_item`` in the tier ``store``, so that `MemoryManager.search` and
    `search_memory` find it too. Labels of a namespace may hold any text, e-mail addresses too. A search with a query
    finds the items that speak of it, best first; without one, the oldest first. An item expires when its time has come;
    reading does not make it live longer. The index False keeps an item from searches with a query; names of fields as
    an index make no difference. In a batch all reads see what was there before its writes.

    `get`, `search`, `put`, `delete`, `list_namespaces`, and `aget`, `asearch` and so on, take what LangGraph's take.

    Args:
        manager: The memories.
    """

    supports_ttl = True

    def __init__(self, manager: MemoryManager) -> None:
        self.manager = manager
        self._scope = Scope(manager.scope.user_id, tier=TIER)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Return the results of *ops*, in their order.

        Raises:
            InvalidArgumentError: A namespace that is not a tuple of texts, or an unknown operation or operator.
            InvalidContentError: JSON cannot express a value.
            StoreError: The store could not do it, or something in it left no item under the key; a search leaves
                such items out, and logs a warning.
        """
        listed = list(ops)
        results = [self._read(op) for op in listed]
        # Of several writes to one key only the last counts.
        writes = {(op.namespace, op.key): op for op in listed if isinstance(op, PutOp)}
        for write in writes.values():
            self._write(write)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As `batch`, off the event loop."""
        return await off_loop(self.batch, list(ops))

    def _read(self, op: Op) -> Result:
        match op:
            case GetOp():
                found = self.manager.memory_store.get(self._scope, _key(op.namespace, op.key))
                if found is None or not _lives(found):
                    return None
                self.manager.audit("expanded", found.memory_key)
                return Item(**_facts(found))
            case SearchOp():
                return self._searched(op)
            case ListNamespacesOp():
                return self._namespaces(op)
            case PutOp():
                return None

    def _write(self, op: PutOp) -> None:
        _check(op.namespace)
        key = _key(op.namespace, op.key)
        if op.value is None:
            if self.manager.memory_store.delete(self._scope, key):
                self.manager.audit("deleted", key)
            return
        self.manager.remember(
            dict(op.value),
            one_line(f"{'/'.join(op.namespace)}: {op.key}") or None,
            TYPE,
            key=key,
            tier=TIER,
            tags=[_tag(op.namespace[:depth]) for depth in range(1, len(op.namespace) + 1)],
            metadata={
                "namespace": list(op.namespace),
                "key": op.key,
                "index": op.index is not False,
            },
            expires_at=None if op.ttl is None else now() + timedelta(minutes=op.ttl),
            replace=True,
        )

    def _searched(self, op: SearchOp) -> list[SearchItem]:
        """Return the items below a namespace that match and have not expired."""
        store = self.manager.memory_store
        filters = {"tags": _tag(op.namespace_prefix)} if op.namespace_prefix else {}
        if op.query:
            found = self.manager.hits(self._scope, op.query, limit=SEARCHED, filters=filters)
            items = [item for item in found if item.content_metadata.get("index", True)]
        else:
            items = store.query(self._scope, filters, limit=None, order_by="-created_at")
        matching = [
            (item, facts)
            for item, facts in _living(items)
            if _matches(facts["value"], op.filter or {})
        ]
        page = matching[op.offset : op.offset + op.limit]
        self.manager.audit("expanded", *(item.memory_key for item, _ in page))
        return [
            SearchItem(**facts, score=item.match.score if item.match and op.query else None)
            for item, facts in page
        ]

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        items = self.manager.memory_store.query(self._scope, limit=None)
        namespaces = set[tuple[str, ...]]()
        for _, facts in _living(items):
            namespace = facts["namespace"]
            if all(_fits(condition, namespace) for condition in op.match_conditions or ()):
                namespaces.add(namespace[: op.max_depth])
        return sorted(namespaces)[op.offset : op.offset + op.limit]


def _check(namespace: object) -> None:
    labels = cast("tuple[object, ...]", namespace) if isinstance(namespace, tuple) else ()
    if not labels or not all(isinstance(label, str) and label for label in labels):
        message = (
            f"a namespace is a tuple of one or more texts that are not empty, not {namespace!r:.80}"
        )
        raise InvalidArgumentError(message)


def _key(namespace: Sequence[str], key: str) -> str:
    return f"store_{hash_content(json.dumps([*namespace, key]))[:48]}"


def _tag(prefix: Sequence[str]) -> str:
    """Return the tag that all items below a namespace have."""
    return f"in_{hash_content(json.dumps(list(prefix)))[:32]}"


def _facts(item: MemoryItem) -> dict[str, Any]:
    """Return the item that a memory holds.

    Raises:
        StoreError: It holds none.
    """
    try:
        return {
            "namespace": tuple(item.content_metadata["namespace"]),
            "key": item.content_metadata["key"],
            "value": dict(json.loads(item.data)),
            "created_at": item.created_at,
            "updated_at": item.updated_at,
        }
    except (ValueError, TypeError, LookupError) as error:
        message = f"the memory {item.memory_key!r} does not hold the item that was stored there"
        raise StoreError(message) from error


def _living(items: Iterable[MemoryItem]) -> Iterator[tuple[MemoryItem, dict[str, Any]]]:
    """Yield the items that have not expired with what they hold; leave out records that hold no item."""
    for item in filter(_lives, items):
        try:
            yield item, _facts(item)
        except StoreError as error:
            events.RECORD_UNREADABLE.log(error, memory_key=item.memory_key)


def _lives(item: MemoryItem) -> bool:
    return item.expires_at is None or item.expires_at > now()


def _matches(value: Any, wanted: Any) -> bool:  # noqa: ANN401 - whatever JSON holds
    """Return whether a value is the wanted one: fields, lists of the same length, and operators, as LangGraph has them."""
    if isinstance(wanted, Mapping):
        fields = cast("Mapping[str, Any]", wanted)
        if any(name.startswith("$") for name in fields):
            return all(_holds(value, name, operand) for name, operand in fields.items())
        return isinstance(value, Mapping) and all(
            _matches(cast("Mapping[str, Any]", value).get(name), one)
            for name, one in fields.items()
        )
    if isinstance(wanted, list | tuple):
        if not isinstance(value, list):
            return False
        values: list[Any] = value  # pyright: ignore[reportUnknownVariableType] # JSON
        others = cast("Sequence[Any]", wanted)
        return len(values) == len(others) and all(map(_matches, values, others))
    return bool(value == wanted)


def _holds(value: Any, operator: str, operand: Any) -> bool:  # noqa: ANN401 - whatever JSON holds
    if operator not in _OPERATORS:
        message = f"unknown operator {operator!r}: there are {' '.join(_OPERATORS)}"
        raise InvalidArgumentError(message)
    try:
        return _OPERATORS[operator](value, operand)
    except TypeError:  # a text is neither more nor less than a number
        return False


def _fits(condition: MatchCondition, namespace: tuple[str, ...]) -> bool:
    path = condition.path
    if condition.match_type == "suffix":
        path, namespace = path[::-1], namespace[::-1]
    if len(path) > len(namespace):
        return False
    return all(wanted in ("*", label) for wanted, label in zip(path, namespace, strict=False))
